// Tables: search, sort, more rows, copy as CSV. All text goes through textContent.
(() => {
  'use strict'
  const data = JSON.parse(document.getElementById('data').textContent)
  const page = window.rooflinePage = {data}
  const STEP = 500

  const make = page.make = (tag, properties = {}, ...children) => {
    const element = document.createElement(tag)
    for (const [name, value] of Object.entries(properties)) {
      if (name in element && name !== 'list') element[name] = value
      else element.setAttribute(name, value)
    }
    element.append(...children)
    return element
  }

  const csvCell = (text) => /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text
  page.csv = (columns, rows) =>
    [columns, ...rows].map((row) => row.map((cell) => csvCell(String(cell))).join(',')).join('\n') + '\n'

  page.copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text)
      return true
    } catch {
      const area = make('textarea', {value: text})
      document.body.append(area)
      area.select()
      const done = document.execCommand('copy')
      area.remove()
      return done
    }
  }

  // 33.2 µs, 1.5 MB, 45 %, 3.1x, 2 to 4 ms: the first number, in base units
  const PREFIX = {f: 1e-15, p: 1e-12, n: 1e-9, 'µ': 1e-6, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18}
  const UNITS = /^([fpnµmkMGTPE]?)(s|B|FLOP|pass|element|B\/s)(\/|$|\s|;)/
  const number = (text) => {
    const found = /^[<>~≥≤ ]*([-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?)(?:\s+to\s+[\d.,]+)?\s*(.*)$/i.exec(text)
    if (!found) return NaN
    const unit = UNITS.exec(found[2])
    const bare = /^[kMGTPE]$/.exec(found[2])
    return parseFloat(found[1].replaceAll(',', '')) * (PREFIX[(unit && unit[1]) || (bare && bare[0])] || 1)
  }
  const compare = (a, b) => {
    const [x, y] = [number(a), number(b)]
    if (!isNaN(x) && !isNaN(y)) return x - y
    if (isNaN(x) !== isNaN(y)) return isNaN(x) ? 1 : -1
    return a.localeCompare(b)
  }

  // holder gets tools in front; body is filled from rows
  page.table = (holder, columns, rows, numeric = new Set()) => {
    let table = holder.querySelector('table')
    if (!table) {
      table = make('table', {}, make('thead', {}, make('tr')), make('tbody'))
      for (const [at, name] of columns.entries()) {
        table.tHead.rows[0].append(make('th', {scope: 'col', className: numeric.has(at) ? 'n' : '', textContent: name}))
      }
      holder.append(make('div', {className: 'scroll', tabIndex: 0, role: 'region', ariaLabel: 'Data of the figure'}, table))
    }
    let [sorted, down, limit] = [-1, false, Math.max(100, table.tBodies[0].rows.length)]
    const search = make('input', {type: 'search', placeholder: 'Search', ariaLabel: 'Search this table'})
    const count = make('span', {className: 'count', role: 'status'})
    const more = make('button', {type: 'button', hidden: true})
    const copy = make('button', {type: 'button', textContent: 'Copy as CSV'})
    const tools = make('div', {className: 'tools'}, search, copy, more, count)
    holder.prepend(tools)
    if (rows.length < 6) search.hidden = true

    const chosen = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean)
      const found = rows.filter((row) => {
        const text = row.join('\n').toLowerCase()
        return words.every((word) => text.includes(word))
      })
      if (sorted >= 0) found.sort((a, b) => (down ? -1 : 1) * compare(String(a[sorted]), String(b[sorted])))
      return found
    }
    const draw = () => {
      const found = chosen()
      const shown = found.slice(0, limit)
      table.tBodies[0].replaceChildren(...shown.map((row) => {
        const line = make('tr')
        row.forEach((cell, at) => line.append(make('td', {className: numeric.has(at) ? 'n' : '', textContent: cell})))
        return line
      }))
      more.hidden = shown.length === found.length
      more.textContent = `Show ${Math.min(STEP, found.length - shown.length)} more`
      count.textContent = found.length === rows.length && more.hidden ? '' : `${shown.length} of ${found.length} rows` +
        (found.length < rows.length ? ` (${rows.length} in all)` : '')
    }
    search.addEventListener('input', draw)
    more.addEventListener('click', () => { limit += STEP; draw() })
    copy.addEventListener('click', async () => {
      const done = await page.copy(page.csv(columns, chosen()))
      copy.textContent = done ? 'Copied' : 'Copy failed'
      setTimeout(() => { copy.textContent = 'Copy as CSV' }, 1500)
    })
    const heads = [...table.tHead.rows[0].cells]
    heads.forEach((head, at) => {
      const button = make('button', {type: 'button', textContent: head.textContent, title: 'Sort'})
      head.replaceChildren(button)
      button.addEventListener('click', () => {
        down = sorted === at && !down
        sorted = at
        heads.forEach((other) => other.removeAttribute('aria-sort'))
        head.setAttribute('aria-sort', down ? 'descending' : 'ascending')
        draw()
      })
    })
    if (rows.length > limit || !table.tBodies[0].rows.length) draw()
    addEventListener('beforeprint', () => { const kept = limit; limit = Infinity; draw(); limit = kept })
  }

  for (const holder of document.querySelectorAll('[data-table]')) {
    const table = holder.querySelector('table')
    const columns = [...table.tHead.rows[0].cells].map((cell) => cell.textContent)
    const numeric = new Set([...columns.keys()].filter((at) => table.tHead.rows[0].cells[at].classList.contains('n')))
    const rows = [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent))
    page.table(holder, columns, rows.concat(data.tables[holder.dataset.table] || []), numeric)
  }
})()
