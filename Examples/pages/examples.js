/** What the pages of the examples have in common. */

/**
 * Follows the model of a Swift example that is being played with `--hub`, in place of the page's own.
 * @param {string} name - the example's name; its model's id is `examples/NAME-…/LAST`.
 * @param {object} fields - what is described of a new model's fields, as the Swift example declares them.
 * @param {function} start - is told the model, now and whenever it is another one.
 */
export function follow(name, fields, start = () => {}) {
  const main = document.querySelector('main'), seen = new Set()
  const use = id => {
    main.dataset.model = id
    start(bind.model(id))
  }
  use(main.dataset.model)
  const own = bind.model(main.dataset.model)
  // With each welcome, for a hub that was started anew may have forgotten it.
  const describe = () => { if (bind.link().isLive) own.propose([['setIfAbsent', '@description', { fields }]]) }
  describe()
  bind.link().on(what => { if (what === 'state') describe() })
  bind.link().list('examples/', ({ model, fields: count }) => {
    if (count && !seen.has(model) && model.startsWith(`examples/${name}-`)) use(model)
    seen.add(model)
  })
}
