/** A table as `bindpeer export --csv` prints it and `bindpeer import` reads it. */
import { typed } from '/values.js'

/** A first row `model,FIELD,…`, then a row for each model. What is secret is left out. */
export function tableOf(models, columns) {
  const names = columns.filter(name => !models.some(model => model.isSecret(name)))
  const rows = models.map(model => [model.id, ...names.map(name => cellOf(model.get(name)))])
  return [['model', ...names], ...rows].map(row => `${row.map(quoted).join(',')}\n`).join('')
}

/** Text stands as it is, and everything else as JSON; so does text that would be read as something else, or by a
 *  spreadsheet as a formula. No value is an empty cell. */
function cellOf(value) {
  if (value === undefined) return ''
  if (typeof value !== 'string') return value?.$int ?? JSON.stringify(value)
  const isPlain = value && !/^[=+\-@\t\r]/.test(value) && !/^(true|false|on|off|yes|no)$/i.test(value)
    && typed(value, 'any').value === value
  return isPlain ? value : JSON.stringify(value)
}

const quoted = cell => /[,"\n\r]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
