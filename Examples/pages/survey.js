/** The twin of Examples/Sources/survey: texts that are derived from the answers. */
import { follow } from '/pages/examples.js'

const number = value => Number.isInteger(value) ? value.toFixed(1) : String(value)
const or = (value, words = one => one) => value === undefined || value === null || value === '' ? '--' : words(value)
const put = (id, words) => { document.getElementById(id).textContent = words }
const optional = { type: 'any', default: null }
let end = () => {}

follow('survey', {
  name: optional, company: optional, years: optional, isEmployer: { type: 'boolean', default: false },
  salary: optional, comments: optional,
}, model => {
  end()
  end = model.on(null, ({ name, company, years, isEmployer, salary, comments }) => {
    const experience = or(years, years => `${number(years)} yrs`)
    const thousands = or(salary, salary => `${number(salary / 1000)}k`)
    put('experience', experience)
    put('thousands', thousands)
    const lines = [
      `Name: ${or(name)}`, `Company: ${or(company)}`, `Experience: ${experience}`,
      `Current employer? ${isEmployer ? 'YES' : 'NO'}`, `Approx. salary: ${thousands}`, `Comments: ${or(comments)}`,
    ]
    document.getElementById('summary').replaceChildren(...lines.map(line => {
      const item = document.createElement('li')
      item.textContent = line
      return item
    }))
  })
})
