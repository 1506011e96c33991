import CZMQ

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Symbolic names of the error numbers that libzmq and the system calls used with it can return.
enum ErrorName {
  static var interrupted: Int32 { EINTR }
  static var wouldBlock: Int32 { EAGAIN }
  static var unreachable: Int32 { EHOSTUNREACH }
  static var contextTerminated: Int32 { ETERM }
  static var invalid: Int32 { EINVAL }
  static var exists: Int32 { EEXIST }
  static var tooManyFiles: Int32 { EMFILE }

  static func of(_ code: Int32) -> String { names[code] ?? "E\(code)" }

  /// Pairs, not a dictionary literal: on some systems two names share a number. The first one listed wins.
  private static let names = [Int32: String](
    [
      (EFSM, "EFSM"), (ENOCOMPATPROTO, "ENOCOMPATPROTO"), (ETERM, "ETERM"), (EMTHREAD, "EMTHREAD"),
      (EADDRINUSE, "EADDRINUSE"), (EADDRNOTAVAIL, "EADDRNOTAVAIL"), (EACCES, "EACCES"), (EPERM, "EPERM"),
      (ENOENT, "ENOENT"), (EINVAL, "EINVAL"), (EMFILE, "EMFILE"), (ENFILE, "ENFILE"), (ENODEV, "ENODEV"),
      (EAGAIN, "EAGAIN"), (EINTR, "EINTR"), (EEXIST, "EEXIST"), (ENOTDIR, "ENOTDIR"), (EISDIR, "EISDIR"),
      (EROFS, "EROFS"), (ENOSPC, "ENOSPC"), (ENOMEM, "ENOMEM"), (EFAULT, "EFAULT"), (EBADF, "EBADF"),
      (EPIPE, "EPIPE"), (EIO, "EIO"), (ELOOP, "ELOOP"), (ENOTSOCK, "ENOTSOCK"), (ENOTSUP, "ENOTSUP"),
      (EPROTONOSUPPORT, "EPROTONOSUPPORT"), (EPROTO, "EPROTO"), (EAFNOSUPPORT, "EAFNOSUPPORT"),
      (ENAMETOOLONG, "ENAMETOOLONG"), (EMSGSIZE, "EMSGSIZE"), (EHOSTUNREACH, "EHOSTUNREACH"),
      (ENETUNREACH, "ENETUNREACH"), (ENETDOWN, "ENETDOWN"), (ENETRESET, "ENETRESET"), (ENOBUFS, "ENOBUFS"),
      (ECONNREFUSED, "ECONNREFUSED"), (ECONNRESET, "ECONNRESET"), (ECONNABORTED, "ECONNABORTED"),
      (ENOTCONN, "ENOTCONN"), (ETIMEDOUT, "ETIMEDOUT"), (EINPROGRESS, "EINPROGRESS"), (ESRCH, "ESRCH"),
    ], uniquingKeysWith: { first, _ in first })
}

/// Remedies for common errors.
enum ErrorHint {
  static func of(_ code: Int32) -> String? {
    switch code {
    case EADDRINUSE: "Another process uses this address: stop it, or choose another port."
    case EADDRNOTAVAIL: "No network interface of this machine has this address: use an existing one, or *."
    case EACCES, EPERM: "Not permitted: choose a port above 1023, or a directory that this user can write to."
    case ENOENT: "The directory does not exist: create it first."
    case ENODEV: "No such network interface: use an existing one, or *."
    case EINVAL: "Invalid value: endpoints look like tcp://127.0.0.1:7877 or ipc:///run/user/1000/hub.sock."
    case EPROTONOSUPPORT: "This transport is not available: use tcp://, ipc:// or inproc://."
    case ENOCOMPATPROTO: "This kind of socket cannot use that transport: use tcp://, ipc:// or inproc://."
    case ENAMETOOLONG: "The path of an ipc:// endpoint must stay under 108 bytes: use a shorter directory."
    case EEXIST: "The path exists and is not a socket: move the file, or choose another path."
    case EMFILE, ENFILE: "Too many open files or sockets: raise `ulimit -n` or the context's limit of sockets."
    case ENOTDIR: "A part of the path is not a directory."
    case EROFS: "The file system is read-only: choose another directory."
    case ENOSPC: "The disk is full."
    case ETERM: "The context was shut down; this socket can only be closed."
    case ENOTSOCK: "The socket was closed already."
    case ECONNREFUSED: "No process listens at this address."
    default: nil
    }
  }
}
