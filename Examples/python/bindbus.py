"""A Bindbus peer, written from docs/reference/protocol.md: reads, follows and writes one model. Needs pyzmq."""
import hashlib, json, math, os, random, struct, sys, time, zmq

ABSENT, ENDS = 0xFFFFFFFF, {1: "committed", 2: "unchanged", 3: "refused", 4: "conflict", 5: "expired", 6: "unknown"}
OPTIONS = {zmq.IMMEDIATE: 1, zmq.RECONNECT_IVL: -1, zmq.SNDHWM: 0, zmq.HEARTBEAT_IVL: 1000, zmq.HEARTBEAT_TIMEOUT: 3000}
def text(string): return bytes([len(string.encode())]) + string.encode()
def value(data): return struct.pack("<I", ABSENT) if data is None else struct.pack("<I", len(data)) + data

class Reader:  # takes the little-endian pieces of a message off its front
    def __init__(self, data): self.data, self.at = data, 0
    def __call__(self, form):
        found = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return found if len(found) > 1 else found[0]
    def text(self, length="B"): return self(f"{self(length)}s").decode()
    def writer(self):  # tag, name, and the user if a hub with keys names one
        tag, size = self("8s"), self("B")
        return (tag, self.text(), self.text()) if size == 255 else (tag, self(f"{size}s").decode(), None)
    def list(self, count, item): return [item() for _ in range(self(count))]
    def value(self): return None if (length := self("I")) == ABSENT else self(f"{length}s")

class Peer:
    """Follows one model through lost messages, cut connections and restarts of the hub, and calls `observer`."""
    def __init__(self, address, model, observer):
        self.address, self.model, self.observer, self.context = address, model, observer, zmq.Context()
        self.secret, self.sockets, self.pause = os.urandom(16), (), 0.05
        self.tag = hashlib.sha256(b"bindbus tag 1\0" + self.secret).digest()[:8]
        self.log = self.epoch = self.version = self.mark = self.request = 0
        self.fields = {}  # name: version, tag, origin, user, number, time, JSON text (None: deleted)
        self.pending = self.outcome = None  # the one write without an outcome: its number and its fields
        self.connect()
    def connect(self):
        for socket in self.sockets: socket.close(0)
        self.sockets = self.dealer, self.sub = self.context.socket(zmq.DEALER), self.context.socket(zmq.SUB)
        for option in OPTIONS.items(): self.dealer.setsockopt(*option), self.sub.setsockopt(*option)
        self.dealer.setsockopt(zmq.ROUTING_ID, b"\1" + os.urandom(15))  # a known one that comes back would be mute
        self.pause = min(1, 2 * self.pause)
        self.session, self.start, self.topic, self.heartbeat, self.names, self.buffer = os.urandom(8), 0, 0, 0, [], []
        self.current, self.greeted, self.repeat_at, self.received_at = False, False, math.inf, time.monotonic()
        self.dealer.connect(self.address)
    def send(self, kind, body):  # without a connection it is lost; what matters is said again on the next one
        frame = bytes([kind]) + self.session + struct.pack("<I", self.start) + body
        if self.dealer.poll(0, zmq.POLLOUT): self.dealer.send(frame)
    def join(self):
        self.current, self.chunks, self.request = False, [], self.request + 1
        mine = struct.pack("<QQII", self.epoch, self.version, len(self.names), self.mark + 1)
        self.send(2, struct.pack("<HIB", 1, self.request, 0) + text(self.model) + mine)
    def write(self, fields):  # as one commit; `outcome` tells what became of it
        self.pending, self.outcome = (self.mark + 1, fields), None
        self.propose()
    def propose(self):
        if not self.pending or not self.current: return
        number, fields = self.pending
        sets = b"".join(struct.pack("<BI", 0, ABSENT) + text(name) + value(json.dumps(new).encode())
                        for name, new in fields.items())
        self.send(3, struct.pack("<HIIIIH", 1, self.topic, number, number - 1, 0, len(fields)) + sets)
    def settle(self, number, **outcome):
        if self.pending and self.pending[0] == number: self.mark, self.pending, self.outcome = number, None, outcome
    def run(self, seconds):
        """Hears what comes, for at most so long; a silent hub is looked for again on a new connection."""
        if not self.greeted and self.dealer.poll(min(seconds, 0.2) * 1000, zmq.POLLOUT):
            who = self.tag + self.secret + text("python")
            self.send(1, b"\0\0" + who + bytes(5) + text("json") + b"\2" + text("users") + text("lists"))
            self.greeted = True
        for socket in zmq.select([*self.sockets], [], [], seconds if self.greeted else 0)[0]:
            while not socket.closed and socket.poll(0):
                try: self.receive(socket.recv())
                except (struct.error, ValueError, IndexError) as reason: print("dropped:", reason, file=sys.stderr)
        if time.monotonic() > self.repeat_at: self.repeat_at = math.inf; self.propose()
        if time.monotonic() > self.received_at + (4 if self.start else 2):
            time.sleep(random.uniform(self.pause / 2, self.pause))
            self.connect()
    def receive(self, frame):
        r = Reader(frame)
        topic, kind, start = int.from_bytes(r("4s"), "big"), *r("BI")
        if kind not in (0x81, 0x88) and (start != self.start or 0x90 <= kind <= 0x92 and topic != self.topic): return
        self.received_at = time.monotonic()
        if kind == 0x81: self.start = start
        if kind == 0x90 and not self.current: self.buffer.append(frame)
        elif kind in HANDLERS: HANDLERS[kind](self, r)
    def welcome(self, r):
        log, _, _ = r("9xQ26x"), r.text(), r.list("B", lambda: r("BQ"))
        ways = dict(r.list("B", lambda: (r.text("H"), r.text("H"))))
        if self.log not in (0, log):  # another log: nothing of what we hold belongs to it
            self.fields, self.epoch, self.version, _ = {}, 0, 0, self.settle(self.mark + 1, outcome="unknown")
        self.log, self.pause, (scheme, place) = log, 0.05, self.address.split("://")
        host, mine = ("", place) if scheme == "ipc" else place.rsplit(":", 1)
        way = ways.get(f"{scheme}:{mine}") or next(way for way in ways.values() if way.startswith(scheme))
        for topic in (b"\0" + self.session, b"\1\0\0\0"): self.sub.setsockopt(zmq.SUBSCRIBE, topic)
        self.sub.connect(f"{scheme}://{host}{':' if host else ''}{way.split(':', 1)[1]}")
        self.join()
    def error(self, r):
        code, fatal = r("8xHB")
        if code in (4, 5, 10): sys.exit(f"the hub ended this session: {r.text('H')}")
        if fatal: self.received_at = 0
    def assigned(self, r):
        self.topic = r("12xI"); self.sub.setsockopt(zmq.SUBSCRIBE, struct.pack(">I", self.topic))
    def joined(self, r):
        request, epoch, version, mark, follows = r("8xI4xQQ8xIxB")
        if request == self.request and follows == 0: self.current_at(epoch, version, mark)
    def current_at(self, epoch, version, mark):
        self.epoch, self.version, self.mark = epoch, version, self.mark if self.pending else max(self.mark, mark)
        self.current, frames, self.buffer = True, self.buffer, []
        for frame in frames: self.receive(frame)
        self.propose()
    def learn(self, r):
        origins, first, names = r.list("H", r.writer), r("I"), r.list("I", r.text)
        self.names[first:first + len(names)] = names  # ids count up: what is known already stands there again
        return origins
    def commits(self, r):
        epoch, previous, wall = r("QQQ")
        if epoch != self.epoch or previous > self.version: return self.join()
        origins = self.learn(r)
        for version in range(previous + 1, previous + 1 + r("H")):
            (origin, number), changes = r("HIx"), r.list("H", lambda: (self.names[r("I")], r.value()))
            if origins[origin][0] == self.tag: self.settle(number, outcome="committed", version=version)
            if version <= self.version: continue
            for field, data in changes: self.fields[field] = version, *origins[origin], number, wall, data
            self.version, new = version, {field: json.loads(data or b"null") for field, data in changes}
            self.observer(dict(model=self.model, version=version, origin=origins[origin][1], changes=new))
    def catchup(self, r):
        request, epoch, version, form, last, mark = r("8xIQ8xQB4xBI")
        origins = self.learn(r)
        for _ in range(r("I")):
            (id, at, origin, number, wall), data = r("IQHIQ"), r.value()
            if request == self.request: self.chunks.append((self.names[id], (at, *origins[origin], number, wall, data)))
            if origins[origin][0] == self.tag: self.settle(number, outcome="committed", version=at)
        if not last or request != self.request: return
        self.fields = {**(self.fields if form == 1 else {}), **dict(self.chunks)}
        self.observer(dict(model=self.model, version=version, caught_up=form, values=self.values()))
        self.current_at(epoch, version, mark)
    def values(self):  # the elements of a list are fields of their own, with ranks (§6.5)
        values = {name: json.loads(field[6]) for name, field in self.fields.items() if field[6] is not None}
        elements = {name: values.pop(name) for name in list(values) if "@" in name[1:]}
        for head in {name for name, head in values.items() if isinstance(head, dict) and list(head) == ["$list"]}:
            listed = [(e["at"], name, e["is"]) for name, e in elements.items() if name.split("@")[0] == head
                      and isinstance(e, dict) and type(e.get("at")) is int and "is" in e]
            values[head] = [element for _, _, element in sorted(listed, key=lambda each: each[:2])]
        return values
    def outcomes(self, r):
        for _ in range(r("16xH")):
            (number, kind), details = r("4xIB"), {}
            if kind == 1: details["version"] = r("2xQ")
            elif kind == 3: details["code"], details["text"] = r("H"), r.text("H")
            elif kind == 4:
                details = dict(field=r.text(), now=r("Q"), by=r.writer()[1], ago=r("Q"), value=str(r.value()))
            elif kind == 7: self.repeat_at = time.monotonic() + r("2xI") / 1000
            elif kind == 8: r("I")  # the join that follows every second heartbeat tells the hub where our numbers stand
            if kind in ENDS: self.settle(number, outcome=ENDS[kind], **details)
    def head(self, r):
        if r("QQ8x") != (self.epoch, self.version) and self.current: self.join()
    def heartbeats(self, r):
        missed, self.heartbeat = self.heartbeat + 1, r("8xQ8x")
        applied = struct.pack("<HIIQ", 1, self.topic, self.mark, self.version) if self.current else b"\0\0"
        self.send(4, struct.pack("<Q", self.heartbeat) + applied)
        if self.heartbeat != missed or self.heartbeat % 8 == 0 or self.pending and self.heartbeat % 2 == 0: self.join()
    def offer(self, r):
        mine = *r("8xII"), self.epoch, self.version
        for at, (name, (version, tag, origin, _, number, wall, data)) in enumerate(self.fields.items(), 1):
            field = text(name) + struct.pack("<Q", version) + tag + text(origin) + struct.pack("<IQ", number, wall)
            self.send(8, struct.pack("<IIQQIBI", *mine, at - 1, at == len(self.fields), 1) + field + value(data))
HANDLERS = {0x81: Peer.welcome, 0x83: Peer.assigned, 0x84: Peer.joined, 0x85: Peer.outcomes, 0x88: Peer.error,
         0x8A: Peer.offer, 0x90: Peer.commits, 0x91: Peer.catchup, 0x92: Peer.head, 0x93: Peer.heartbeats}
