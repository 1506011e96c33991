#!/usr/bin/env python3
"""A Bindbus peer in Python, written from docs/protocol.md: get, set and watch models. Needs pyzmq."""
import argparse, json, os, random, struct, sys, tempfile, time
import zmq

BEAT, NAMED, NO_VALUE = b"\x01\0\0\0", 0xFFFFFFFF, 0xFFFFFFFF
CODES = {1: "committed", 2: "kept", 3: "refused", 4: "conflict", 5: "expired", 6: "unknown", 7: "hold", 8: "expected"}


def text8(text): return bytes([len(text.encode())]) + text.encode()


class Reader:
    """Reads the little-endian pieces of a message."""
    def __init__(self, data): self.data, self.at = data, 0

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values if len(values) > 1 else values[0]

    def raw(self, count):
        if self.at + count > len(self.data): raise ValueError("a message ends too early")
        self.at += count
        return self.data[self.at - count:self.at]

    def text(self, form="B"): return self.raw(self.take(form)).decode()
    def list(self, form, item): return [item() for _ in range(self.take(form))]

    def value(self):
        count = self.take("I")
        return None if count == NO_VALUE else json.loads(self.raw(count))


class Peer:
    """One model, followed through reconnects and restarts of the hub."""
    def __init__(self, address, model, heard):
        self.context, self.address, self.model, self.heard = zmq.Context(), address, model, heard
        self.tag, self.secret = os.urandom(8), os.urandom(16)
        self.epoch = self.version = self.mark = 0
        self.values, self.origins, self.pending = {}, {}, None
        self.dealer = self.sub = None
        self.welcomed_before, self.pause, self.outcome = 0, 0.05, None
        self.connect()

    def connect(self):
        for socket in (self.dealer, self.sub):
            if socket: socket.close(0)
        self.dealer, self.sub = self.context.socket(zmq.DEALER), self.context.socket(zmq.SUB)
        self.dealer.setsockopt(zmq.ROUTING_ID, b"\1" + os.urandom(15))
        for option, number in ((zmq.RECONNECT_IVL, -1), (zmq.IMMEDIATE, 1), (zmq.LINGER, 0), (zmq.HEARTBEAT_IVL, 1000),
                               (zmq.HEARTBEAT_TIMEOUT, 3000)):
            self.dealer.setsockopt(option, number)
        self.sub.setsockopt(zmq.SNDHWM, 0)
        self.session, self.start, self.topic = os.urandom(8), 0, None
        self.names, self.current, self.chunks, self.buffer = [], False, [], []
        self.beat, self.beats_waited, self.heard_at, self.hello_sent = 0, 0, time.monotonic(), False
        self.dealer.connect(self.address)

    def send(self, kind, body):
        self.dealer.send(bytes([kind]) + self.session + struct.pack("<I", self.start) + body, zmq.DONTWAIT)

    def join(self):
        self.current, self.chunks = False, []
        undecided = self.pending[0] if self.pending else self.mark + 1
        self.send(2, struct.pack("<HIB", 1, 1, 0) + text8(self.model) + struct.pack(
            "<QQII", self.epoch, self.version, len(self.names), undecided))

    def propose(self, fields=None):
        """Writes fields as one commit; without fields repeats what has no outcome."""
        if fields is not None: self.pending = (self.mark + 1, fields)
        if not self.pending or not self.current: return
        number, fields = self.pending
        body = struct.pack("<HIIIBBBBH", 1, self.topic, number, number - 1, 0, 0, 0, 0, len(fields))
        for name, value in fields.items():
            data = json.dumps(value).encode()
            body += struct.pack("<BI", 0, NAMED) + text8(name) + struct.pack("<I", len(data)) + data
        self.send(3, body)

    def run(self, seconds):
        """Hears what comes, at most so long; starts a new connection when the hub is silent."""
        if not self.hello_sent and self.dealer.poll(200, zmq.POLLOUT):
            self.hello_sent, self.heard_at = True, time.monotonic()
            self.send(1, b"\0\0" + self.tag + self.secret + text8("python")
                      + struct.pack("<BI", self.welcomed_before, 0) + text8("json") + b"\0")
        poller = zmq.Poller()
        poller.register(self.dealer, zmq.POLLIN)
        poller.register(self.sub, zmq.POLLIN)
        for socket, _ in poller.poll(seconds * 1000):
            for _ in range(1000):
                try: self.hear(socket.recv(zmq.DONTWAIT))
                except zmq.Again: break
                except (struct.error, ValueError, IndexError) as reason: print("dropped:", reason, file=sys.stderr)
        if time.monotonic() > self.heard_at + (4 if self.start else 2):
            time.sleep(random.uniform(self.pause / 2, self.pause))
            self.pause = min(1, self.pause * 2)
            self.connect()

    def hear(self, frame):
        r = Reader(frame)
        topic, (kind, start) = r.raw(4), r.take("BI")
        if kind == 0x81: return self.welcome(r, start)
        if kind == 0x88: return self.error(r)
        if start != self.start: return
        self.heard_at = time.monotonic()
        if kind == 0x83: self.subscribe(r)
        elif kind == 0x84: self.joined(r)
        elif kind == 0x85: self.outcomes(r)
        elif kind == 0x87: self.heads(r)
        elif kind == 0x8A: self.offer(r)
        elif kind == 0x90: self.commits(r, frame)
        elif kind == 0x91: self.catchup(r)
        elif kind == 0x92: self.head(*r.take("QQ"))
        elif kind == 0x93: self.on_beat(r.take("QQQ")[1])

    def welcome(self, r, start):
        r.take("QB")
        _, epoch = r.take("QQ")
        r.take("BBIIQ"), r.text(), r.list("B", lambda: r.take("BQ"))
        ways = r.list("B", lambda: (r.text("H"), r.text("H")))
        self.start, self.welcomed_before, self.pause, self.heard_at = start, 1, 0.05, time.monotonic()
        scheme, place = self.address.split("://")
        mine = scheme + ":" + (place if scheme == "ipc" else place.rsplit(":", 1)[1])
        publish = dict(ways).get(mine) or next(p for _, p in ways if p.startswith(scheme))
        host = place.rsplit(":", 1)[0] + ":" if scheme == "tcp" else ""
        for name in (b"\0" + self.session, BEAT): self.sub.setsockopt(zmq.SUBSCRIBE, name)
        self.sub.connect(f"{scheme}://{host}{publish.split(':', 1)[1]}")
        self.join()

    def error(self, r):
        (_, code, fatal), text = r.take("QHB"), r.text("H")
        if code in (4, 5, 10): sys.exit(f"the hub ended this session: {text}")
        if fatal: self.heard_at = 0

    def subscribe(self, r):
        _, _, self.topic = r.take("QII")
        self.sub.setsockopt(zmq.SUBSCRIBE, struct.pack(">I", self.topic))

    def joined(self, r):
        _, _, _, epoch, version, _, mark, _, follows = r.take("QIIQQQIBB")
        self.mark = max(self.mark, mark)
        if follows == 0: self.epoch, self.version = epoch, version; self.now_current()

    def now_current(self):
        self.current, frames, self.buffer = True, self.buffer, []
        for frame in frames: self.hear(frame)
        self.propose()

    def learn(self, r):
        first = r.take("I")
        for id, name in enumerate(r.list("I", r.text), first):
            if id == len(self.names): self.names.append(name)

    def commits(self, r, frame):
        epoch, previous, _ = r.take("QQQ")
        if not self.current: return self.buffer.append(frame)
        if epoch != self.epoch or previous > self.version: self.buffer.append(frame); return self.join()
        origins = r.list("H", lambda: (r.raw(8), r.text()))
        self.learn(r)
        for version in range(previous + 1, previous + 1 + r.take("H")):
            origin, number, _ = r.take("HIB")
            changes = r.list("H", lambda: (self.names[r.take("I")], r.value()))
            tag, name = origins[origin]
            if tag == self.tag: self.settle(number, {"outcome": "committed", "version": version})
            if version <= self.version: continue
            self.version = version
            for field, value in changes: self.put(field, value, version, tag, name, number)
            self.heard({"model": self.model, "epoch": epoch, "version": version, "origin": f"{name}-{tag[:2].hex()}",
                        "changes": dict(changes)})

    def put(self, field, value, version, tag, name, number, time=0):
        self.origins[field] = (version, tag, name, number, time, value)
        if value is None: self.values.pop(field, None)
        else: self.values[field] = value

    def catchup(self, r):
        _, _, epoch, previous, version, form, _, last, mark = r.take("QIQQQBIBI")
        origins = r.list("H", lambda: (r.raw(8), r.text()))
        self.learn(r)
        self.chunks += r.list("I", lambda: (r.take("I"), r.take("QHIQ"), r.value(), origins))
        if not last: return
        if form == 2: self.values, self.origins = {}, {}
        for id, (at, origin, number, wall), value, names in self.chunks:
            if names[origin][0] == self.tag: self.settle(number, {"outcome": "committed", "version": at})
            self.put(self.names[id], value, at, *names[origin], number, wall)
        self.epoch, self.version, self.mark = epoch, version, max(self.mark, mark)
        self.heard({"model": self.model, "epoch": epoch, "version": version,
                    "caught_up": "delta" if form == 1 else "snapshot", "values": dict(self.values)})
        self.now_current()

    def outcomes(self, r):
        r.take("QQ")
        for _ in range(r.take("H")):
            (_, number), kind = r.take("II"), r.take("B")
            told = {"outcome": CODES[kind]}
            if kind == 1: told["version"] = r.take("HQ")[1]
            elif kind == 3: told["code"], told["text"] = r.take("H"), r.text("H")
            elif kind == 4:
                told["field"], told["version"] = r.text(), r.take("Q")
                r.raw(8), r.text(), r.take("Q")
                told["value"] = r.value()
            elif kind == 7: time.sleep(min(0.5, r.take("HI")[1] / 1000)); self.propose()
            elif kind == 8: r.take("I"); self.propose()
            if kind < 7: self.settle(number, told)

    def settle(self, number, outcome):
        if self.pending and number == self.pending[0]:
            self.mark, self.pending, self.outcome = number, None, outcome

    def heads(self, r):
        _, epoch = r.take("QQ")
        for topic, version, _ in r.list("I", lambda: r.take("IQQ")):
            if topic == self.topic: self.head(epoch, version)

    def head(self, epoch, version, *_):
        if self.current and (epoch != self.epoch or version > self.version): self.join()

    def on_beat(self, number):
        if self.beat == 0 or number > self.beat + 1: self.send(6, b"")
        self.beat, self.beats_waited = number, self.beats_waited + 1
        if self.beats_waited % 2 == 0: self.propose()
        entries = struct.pack("<HIIQ", 1, self.topic, self.mark, self.version) if self.current else b"\0\0"
        self.send(4, struct.pack("<Q", number) + entries)

    def offer(self, r):
        request, topic = r.take("QII")[1:]
        body = struct.pack("<IIQQIBI", request, topic, self.epoch, self.version, 0, 1, len(self.origins))
        for field, (version, tag, name, number, wall, value) in self.origins.items():
            data = json.dumps(value).encode()
            body += text8(field) + struct.pack("<Q", version) + tag + text8(name) + struct.pack("<IQ", number, wall)
            body += struct.pack("<I", NO_VALUE) if value is None else struct.pack("<I", len(data)) + data
        self.send(8, body)


def default_address():
    runtime = os.environ.get("XDG_RUNTIME_DIR") or f"{tempfile.gettempdir()}/bindhub-{os.getuid()}"
    folder = f"{runtime}/bindhub" if os.environ.get("XDG_RUNTIME_DIR") else runtime
    return os.environ.get("BINDPEER_HUB") or f"ipc://{folder}/hub.sock"


def main():
    parser = argparse.ArgumentParser(description="A Bindbus peer: one JSON object a line.")
    parser.add_argument("--hub", default=default_address())
    parser.add_argument("--timeout", type=float, default=5, help="seconds to wait for the hub")
    parser.add_argument("--for", dest="span", type=float, default=float("inf"), help="end a watch after that")
    parser.add_argument("--count", type=float, default=float("inf"), help="end a watch after so many lines")
    parser.add_argument("verb", choices=["get", "set", "watch"])
    parser.add_argument("model")
    parser.add_argument("fields", nargs="*", metavar="FIELD=JSON")
    asked = parser.parse_args()
    lines = []

    def heard(line):
        lines.append(line)
        if asked.verb == "watch" and len(lines) <= asked.count: print(json.dumps(line), flush=True)

    peer = Peer(asked.hub, asked.model, heard)
    end = time.monotonic() + (asked.span if asked.verb == "watch" else asked.timeout)
    while time.monotonic() < end and not (asked.verb != "watch" and peer.current) and len(lines) < asked.count:
        peer.run(min(0.25, max(0, end - time.monotonic())))
    if asked.verb == "watch": return 0
    if not peer.current:
        print(f"No hub answers at {asked.hub}. Start one:  bindhub serve", file=sys.stderr)
        return 69
    if asked.verb == "get":
        print(json.dumps({"model": asked.model, "version": peer.version, "values": peer.values}))
        return 0
    peer.propose({name: json.loads(value) for name, value in (field.split("=", 1) for field in asked.fields)})
    while time.monotonic() < end and not peer.outcome: peer.run(0.25)
    print(json.dumps({"model": asked.model, **(peer.outcome or {"outcome": "timed out"})}))
    return 0 if peer.outcome and peer.outcome["outcome"] in ("committed", "kept") else 3


if __name__ == "__main__":
    sys.exit(main())
