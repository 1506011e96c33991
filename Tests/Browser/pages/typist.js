// A person at the textarea of sheet.html: a letter at a time, as keys make it, each with a look at the caret first.
window.typist = {
  typed: [],
  astray: [],
  isResting: false,

  // `letters`: what to type; `moves`: whether the caret is put anywhere now and then; `seed` says where.
  start(letters, every, moves, seed) {
    const text = document.getElementById("text");
    const chance = (below) => {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      return Math.floor((seed / 2147483648) * below);
    };
    let last;
    let rested = 0;
    const key = () => {
      const at = text.selectionStart;
      if (text.selectionEnd !== at) this.astray.push(`selected ${text.value.slice(at, text.selectionEnd)}`);
      if (last && text.value[at - 1] !== last) this.astray.push(`${last}: ${text.value.slice(0, at)}|`);
      if (moves && !chance(6)) {
        const place = chance(text.value.length + 1);
        text.setSelectionRange(place, place);
      }
      last = letters[this.typed.length];
      document.execCommand("insertText", false, (moves && !chance(5) ? " " : "") + last);
      this.typed.push(last);
    };
    return new Promise((done) => {
      const begun = performance.now();
      const timer = setInterval(() => {
        if (this.isResting) {
          last = undefined;
          rested = performance.now() - begun - this.typed.length * every;
          return;
        }
        // Where the browser is late, several keys come at once.
        const due = Math.floor((performance.now() - begun - rested) / every);
        while (this.typed.length < Math.min(due, letters.length)) key();
        if (this.typed.length < letters.length) return;
        clearInterval(timer);
        done();
      }, every);
    });
  },
};
