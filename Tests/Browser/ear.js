// Writes down what the page says and hears over its WebSockets, with the times, and what the browser's policy stopped.
(() => {
  const ear = (window.ear = { sent: [], received: [], stopped: [] });
  document.addEventListener("securitypolicyviolation", (event) => {
    ear.stopped.push(`${event.violatedDirective}: ${event.blockedURI} ${event.sourceFile ?? ""}:${event.lineNumber}`);
  });
  const note = (list, text) => {
    try {
      list.push({ at: performance.now(), ...JSON.parse(text) });
    } catch {
      list.push({ at: performance.now(), kind: "?" });
    }
  };
  // The ear hears before the page does, so that what the page says in answer is noted after it.
  window.WebSocket = class extends WebSocket {
    constructor(...where) {
      super(...where);
      this.addEventListener("message", (event) => note(ear.received, event.data));
    }
    send(text) {
      note(ear.sent, text);
      super.send(text);
    }
  };

  // How the links of the page stand, in the order of their lights.
  ear.lights = () => [...document.querySelectorAll("[data-light]")].map((one) => one.dataset.state).join();

  const tags = () => new Set(ear.sent.filter((one) => one.kind === "hello").map((one) => one.tag));

  // Every proposal of the page with the times at which it was first said and decided (by its outcome or own commit).
  ear.proposals = () => {
    const own = tags();
    const all = new Map();
    for (const one of ear.sent.filter((one) => one.kind === "propose")) {
      const key = `${one.model} ${one.number}`;
      const known = all.get(key);
      if (known) known.times += 1;
      else all.set(key, { ...one, times: 1, decided: null });
    }
    const decide = (model, number, at) => {
      const one = all.get(`${model} ${number}`);
      if (one && one.decided === null) one.decided = at;
    };
    for (const one of ear.received) {
      if (one.kind === "commits") {
        for (const commit of one.commits) if (own.has(commit.tag)) decide(one.model, commit.number, one.at);
      }
      if (one.kind !== "outcomes") continue;
      for (const outcome of one.outcomes) {
        if (outcome.kind === "retryLater" || outcome.kind === "expected") continue;
        for (let i = 0; i < (outcome.count ?? 1); i++) decide(one.model, outcome.number + i, one.at);
      }
    }
    return [...all.values()];
  };

  // How often the value of a control is written to by the page, in whichever way, from now on.
  ear.writesTo = (control) => {
    const of = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(control), "value");
    const count = { writes: 0 };
    Object.defineProperty(control, "value", {
      configurable: true,
      get: () => of.get.call(control),
      set: (value) => {
        count.writes += 1;
        of.set.call(control, value);
      },
    });
    const replace = control.setRangeText;
    control.setRangeText = (...rest) => {
      count.writes += 1;
      replace.apply(control, rest);
    };
    return count;
  };
})();
