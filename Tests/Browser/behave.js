// Plays the scripts of docs/reference/vectors/behave with the page's own bind.js: a clock, a WebSocket and the part of
// the gateway are put in the places of the real ones before it loads. `behave.play(vector)` returns "" or what went
// wrong, and where.
(() => {
  // The clock. Time passes only when `pass` is called; then whatever was due runs in its order.
  const clock = { now: 0, serial: 0, due: new Map() };
  const plan = (call, wait, every) => {
    clock.due.set(++clock.serial, { at: clock.now + Math.max(every ? 1 : 0, Number(wait) || 0), call, every });
    return clock.serial;
  };
  const forget = (id) => void clock.due.delete(id);
  const begin = 1795260576514;
  window.setTimeout = (call, wait, ...rest) => plan(() => call(...rest), wait);
  window.setInterval = (call, wait, ...rest) => plan(() => call(...rest), wait, Math.max(1, Number(wait) || 0));
  window.clearTimeout = window.clearInterval = window.cancelAnimationFrame = forget;
  window.requestAnimationFrame = (call) => plan(() => call(clock.now), 16 - (clock.now % 16));
  performance.now = () => clock.now;
  Date.now = () => begin + clock.now;

  // Lets promises, messages and observers that are on their way arrive; no time passes.
  const channel = new MessageChannel();
  const settle = () => new Promise((done) => {
    channel.port1.onmessage = done;
    channel.port2.postMessage(0);
  });

  async function pass(milliseconds) {
    const end = clock.now + milliseconds;
    await settle();
    for (;;) {
      const due = [...clock.due].filter(([, one]) => one.at <= end);
      const next = due.sort((a, b) => a[1].at - b[1].at || a[0] - b[0])[0];
      if (!next) break;
      const [id, one] = next;
      clock.now = Math.max(clock.now, one.at);
      if (one.every) one.at = clock.now + one.every;
      else clock.due.delete(id);
      one.call();
      await settle();
      look();
    }
    clock.now = end;
    look();
  }

  // The gateway's side of the connection.
  const gateway = { isOpen: false, socket: null, sent: [], attempts: [] };

  class Socket extends EventTarget {
    static CONNECTING = 0;
    static OPEN = 1;
    static CLOSING = 2;
    static CLOSED = 3;
    CONNECTING = 0;
    OPEN = 1;
    CLOSING = 2;
    CLOSED = 3;
    readyState = 0;
    bufferedAmount = 0;
    protocol = "";
    extensions = "";
    binaryType = "blob";
    onopen = onclose = onmessage = onerror = null;

    constructor(url) {
      super();
      this.url = String(url);
      gateway.attempts.push(clock.now);
      plan(() => (gateway.isOpen && !gateway.socket ? this.opens() : this.ends(1006, "")), 1);
    }
    opens() {
      if (this.readyState !== 0) return;
      gateway.socket = this;
      this.readyState = 1;
      this.emit(new Event("open"));
    }
    send(text) {
      if (this.readyState === 0) throw new DOMException("still connecting", "InvalidStateError");
      if (this.readyState === 1) gateway.sent.push(JSON.parse(text));
    }
    close(code = 1000, reason = "") {
      if (this.readyState >= 2) return;
      this.readyState = 2;
      plan(() => this.ends(code, reason), 1);
    }
    ends(code, reason) {
      if (this.readyState === 3) return;
      if (gateway.socket === this) gateway.socket = null;
      if (code === 1006) this.emit(new Event("error"));
      this.readyState = 3;
      this.emit(new CloseEvent("close", { code, reason, wasClean: code !== 1006 }));
    }
    emit(event) {
      this["on" + event.type]?.call(this, event);
      this.dispatchEvent(event);
    }
  }
  window.WebSocket = Socket;

  // Patterns: a string that begins with @ is a place, filled the first time.
  const places = new Map();
  const leftOut = {
    hello: { lowest: 0, highest: 0, resuming: false, capabilities: [] },
    join: { epoch: "0", version: 0, unacknowledged: 1 },
    propose: { confirmed: 0, void: false, earlier: false, hops: 0, conditions: [] },
    alive: { models: [] },
  };
  const isPlace = (value) => typeof value === "string" && value.startsWith("@");
  const isObject = (value) => value !== null && typeof value === "object";
  function matches(pattern, value, found) {
    if (isPlace(pattern)) {
      const known = places.has(pattern) ? places.get(pattern) : found.get(pattern);
      if (known === undefined) found.set(pattern, value);
      return value !== undefined && (known === undefined || known === value);
    }
    if (!isObject(pattern)) return pattern === value;
    if (!isObject(value) || Array.isArray(pattern) !== Array.isArray(value)) return false;
    if (Array.isArray(pattern) && pattern.length !== value.length) return false;
    return Object.keys(pattern).every((name) => matches(pattern[name], value[name], found));
  }
  function fits(pattern, message) {
    const found = new Map();
    const whole = { ...(leftOut[message.kind] ?? {}), ...message };
    if (!matches(pattern, whole, found)) return false;
    for (const [place, value] of found) places.set(place, value);
    return true;
  }
  const filled = (value) =>
    isPlace(value) ? places.get(value) ?? value
      : Array.isArray(value) ? value.map(filled)
        : isObject(value) ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, filled(one)])) : value;

  // What the page shows, as the protocol would say it.
  function written(value) {
    if (typeof value === "bigint") {
      const isSafe = value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER;
      return isSafe ? Number(value) : { $int: String(value) };
    }
    if (typeof value === "number" && !Number.isFinite(value)) return { $float: String(value) };
    if (value instanceof Uint8Array) return { $bytes: btoa(String.fromCharCode(...value)) };
    return value;
  }
  const shown = (model, field) => written(bind.model(model).get(field));
  const same = (one, other) => {
    const found = new Map();
    return matches(one, other, found) && matches(other, one, found);
  };

  // Every turn that the page told of, and every moment in between.
  let turns = [];
  let shape = {};
  function look(isTurn) {
    if (typeof bind === "undefined" || (!isTurn && !turns.length)) return;
    const now = {};
    for (const [model, fields] of Object.entries(shape)) {
      now[model] = Object.fromEntries(fields.map((field) => [field, shown(model, field)]));
    }
    if (!turns.length || !same(turns[turns.length - 1], now)) turns.push(now);
  }

  const idle = (message) => message.kind === "alive" || message.kind === "ping";
  const brief = (value) => JSON.stringify(value)?.slice(0, 400);

  // One word of the table of docs/reference/vectors/README.md each; returns what is wrong, or nothing.
  const steps = {
    async connects() {
      gateway.isOpen = true;
      for (let spent = 0; !gateway.socket && spent < 6000; spent += 10) await pass(10);
      if (!gateway.socket) return "it did not connect";
    },
    async says(pattern) {
      const isFor = (message) => pattern.kind === message.kind || !idle(message);
      for (let spent = 0; ; spent += 5) {
        const place = gateway.sent.findIndex(isFor);
        if (place >= 0) {
          const message = gateway.sent[place];
          gateway.sent.splice(0, place + 1);
          return fits(pattern, message) ? undefined : `it said ${brief(message)}`;
        }
        if (spent >= 50) return "it said nothing";
        await pass(5);
      }
    },
    async silent() {
      await pass(100);
      const message = gateway.sent.find((one) => !idle(one));
      if (message) return `it said ${brief(message)}`;
    },
    async gets(message) {
      if (!gateway.socket) return "there is no connection";
      gateway.socket.emit(new MessageEvent("message", { data: JSON.stringify(filled(message)) }));
      await pass(0);
    },
    async cuts(how) {
      gateway.isOpen = false;
      gateway.sent = [];
      gateway.socket?.ends(how.code ?? 1006, how.reason ?? "");
      await pass(0);
    },
    async stays() {
      const before = gateway.attempts.length;
      await pass(30000);
      if (gateway.attempts.length > before) return `it came back ${gateway.attempts.length - before} times`;
    },
    async sets({ model, field, value }) {
      bind.model(model).set(field, value);
      await pass(0);
    },
    async changes({ model, fields }) {
      bind.model(model).change(fields);
      await pass(0);
    },
    async shows({ model, fields, absent = [] }) {
      await pass(20);
      for (const [field, value] of Object.entries(fields)) {
        if (!same(value, shown(model, field))) return `${field} shows ${brief(shown(model, field))}`;
      }
      for (const field of absent) {
        if (shown(model, field) !== undefined) return `${field} shows ${brief(shown(model, field))}`;
      }
    },
    async never({ model, fields }) {
      const all = (turn) => Object.entries(fields).every(([field, value]) => same(value, turn[model]?.[field]));
      if (turns.some(all)) return `it did: ${brief(turns)}`;
    },
    async state({ model, field, is, why = [] }) {
      await pass(50);
      const control = document.querySelector(`[data-model="${model}"] [data-bind="${field}"]`);
      const now = control.dataset.state ?? "confirmed";
      if (now !== is) return `it is ${now}`;
      if ((is === "refused") !== (control.getAttribute("aria-invalid") === "true")) {
        return `aria-invalid is ${control.getAttribute("aria-invalid")}`;
      }
      const described = ["aria-describedby", "aria-errormessage"]
        .flatMap((name) => (control.getAttribute(name) ?? "").split(/\s+/))
        .map((id) => (id && document.getElementById(id)?.textContent) ?? "");
      const words = [control.title, ...described].join(" ");
      for (const part of why) if (!words.includes(part)) return `what is told of it is '${words}'`;
    },
    async waits(milliseconds) {
      await pass(milliseconds);
    },
  };

  window.behave = {
    gateway,
    pass,
    async play(vector) {
      shape = vector.models;
      await pass(0);
      for (const model of Object.keys(shape)) bind.model(model).on(null, () => look(true));
      for (const [number, step] of vector.steps.entries()) {
        const [word] = Object.keys(step);
        let wrong;
        try {
          wrong = await steps[word](step[word]);
        } catch (error) {
          wrong = String(error.stack ?? error);
        }
        if (wrong) return `step ${number + 1}, ${brief(step)}: ${wrong}`;
      }
      return "";
    },
  };
})();
