# shellcheck shell=bash
# Which packages of this machine's package manager have the tools that scripts/setup has found missing. To be sourced by
# it, after environments.sh.

# The packages with the missing tools, and the command that installs them.
packages=()
install_command=''
plan() {
  packages=()
  if [[ $(uname -s) == Darwin ]]; then
    if is_missing libzmq; then packages+=(zeromq); fi
    if is_missing sqlite; then packages+=(sqlite); fi
    if is_missing chromium; then packages+=(google-chrome); fi
    if is_missing spin; then packages+=(spin); fi
    if is_missing etcd; then packages+=(etcd); fi
    if is_missing nghttp2; then packages+=(libnghttp2); fi
    if is_missing mqtt; then packages+=(mosquitto); fi
    install_command="brew install ${packages[*]-}"
  elif command -v apt-get >/dev/null; then
    if is_missing libzmq; then packages+=(libzmq3-dev); fi
    if is_missing sqlite; then packages+=(libsqlite3-dev); fi
    if is_missing pyzmq; then packages+=(python3-zmq); fi
    if is_missing markdown; then packages+=(python3-markdown-it python3-pygments); fi
    if is_missing chromium; then packages+=("$(debian_browser)"); fi
    if is_missing valgrind; then packages+=(valgrind); fi
    if is_missing spin; then packages+=(spin); fi
    if is_missing cc; then packages+=(gcc libc6-dev); fi
    if is_missing etcd; then packages+=(etcd-server etcd-client); fi
    if is_missing nghttp2; then packages+=(libnghttp2-dev); fi
    if is_missing mqtt; then packages+=(mosquitto); fi
    if { is_missing playwright || is_missing mypy; } && ! can_make_environments; then packages+=(python3-venv); fi
    install_command="sudo apt-get update && sudo apt-get install -y ${packages[*]-}"
    if ((EUID == 0)); then install_command=${install_command//sudo /}; fi
  elif command -v dnf >/dev/null; then
    if is_missing libzmq; then packages+=(zeromq-devel); fi
    if is_missing sqlite; then packages+=(sqlite-devel); fi
    if is_missing pyzmq; then packages+=("'python3dist(pyzmq)'"); fi
    if is_missing markdown; then packages+=("'python3dist(markdown-it-py)'" "'python3dist(pygments)'"); fi
    if is_missing chromium; then packages+=(chromium); fi
    if is_missing valgrind; then packages+=(valgrind); fi
    if is_missing spin; then packages+=("spin (spinroot.com)"); fi
    if is_missing cc; then packages+=(gcc); fi
    if is_missing etcd; then packages+=(etcd); fi
    if is_missing nghttp2; then packages+=(libnghttp2-devel); fi
    if is_missing mqtt; then packages+=(mosquitto); fi
    install_command="sudo dnf install ${packages[*]-}"
  else
    if is_missing libzmq; then packages+=("libzmq $libzmq_needed or later with its headers"); fi
    if is_missing sqlite; then packages+=("SQLite $sqlite_needed or later with its headers"); fi
    if is_missing pyzmq; then packages+=("pyzmq for python3"); fi
    if is_missing markdown; then packages+=("markdown-it-py and pygments for python3"); fi
    if is_missing chromium; then packages+=(chromium); fi
    if is_missing valgrind; then packages+=(valgrind); fi
    if is_missing spin; then packages+=(spin); fi
    if is_missing cc; then packages+=("a C compiler as cc"); fi
    if is_missing etcd; then packages+=("etcd $etcd_needed or later with etcdctl"); fi
    if is_missing nghttp2; then packages+=("libnghttp2 with its header"); fi
    if is_missing mqtt; then packages+=(mosquitto); fi
    install_command="(this machine's package manager) ${packages[*]-}"
  fi
}

# Debian has a browser without windows since 12; its relatives only have the whole one.
debian_browser() {
  # shellcheck source=/dev/null
  if (source /etc/os-release && [[ $ID == debian && ${VERSION_ID:-12} -ge 12 ]]) 2>/dev/null; then
    printf 'chromium-headless-shell\n'
  else
    printf 'chromium\n'
  fi
}
