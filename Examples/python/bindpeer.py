#!/usr/bin/env python3
"""`get`, `set` and `watch` from a shell, with the peer of bindbus.py: one JSON object per line."""
import argparse, json, math, os, sys, tempfile, time
from bindbus import Peer


def default_hub():
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    folder = f"{runtime}/bindhub" if runtime else f"{tempfile.gettempdir()}/bindhub-{os.getuid()}"
    return os.environ.get("BINDPEER_HUB") or f"ipc://{folder}/hub.sock"


class Parser(argparse.ArgumentParser):
    def error(self, words):
        self.print_usage(sys.stderr)
        self.exit(64, f"{words}\n")


def main():
    parser = Parser(description="A Bindbus peer in Python.")
    parser.add_argument("--hub", default=default_hub(), help="its address (%(default)s)")
    parser.add_argument("--timeout", type=float, default=5, help="seconds to wait for the hub and the outcome")
    parser.add_argument("--for", dest="span", type=float, default=math.inf, help="end after this number of seconds")
    parser.add_argument("verb", choices=["get", "set", "watch"])
    parser.add_argument("model")
    parser.add_argument("fields", nargs="*", metavar="FIELD=JSON")
    asked = parser.parse_args()
    watches = asked.verb == "watch"
    try:
        fields = {name: json.loads(new) for name, new in (field.split("=", 1) for field in asked.fields)}
    except ValueError:
        parser.error("a field is written as FIELD=JSON, a text with its quotes: name='\"desk\"'")

    peer = Peer(asked.hub, asked.model, lambda change: watches and print(json.dumps(change), flush=True))
    end = time.monotonic() + (asked.span if watches else asked.timeout)
    while time.monotonic() < end and (watches or not peer.current):
        peer.run(min(0.25, max(0, end - time.monotonic())))
    if watches: return 0
    if not peer.current:
        print(f"No hub answers at {asked.hub}. Start one:  bindhub serve", file=sys.stderr)
        return 69
    if asked.verb == "get":
        print(json.dumps({"model": asked.model, "version": peer.version, "values": peer.values()}))
        return 0
    peer.write(fields)
    while time.monotonic() < end and not peer.outcome: peer.run(0.1)
    if not peer.outcome:
        print("No outcome in time; the write may still commit.", file=sys.stderr)
        return 75
    print(json.dumps({"model": asked.model, **peer.outcome}))
    return 0 if peer.outcome["outcome"] in ("committed", "unchanged") else 3


if __name__ == "__main__":
    try: sys.exit(main())
    except KeyboardInterrupt: sys.exit(130)
