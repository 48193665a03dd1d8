// Light and dark, embedding of the plots, what is under the pointer.
(() => {
  'use strict'
  const page = window.rooflinePage
  const {data, make} = page
  const root = document.documentElement
  const button = document.getElementById('theme')
  const prefers = matchMedia('(prefers-color-scheme: dark)')
  const remember = (mode) => { try { localStorage.setItem('roofline-theme', mode) } catch { /* no storage from disk */ } }
  const recall = () => { try { return localStorage.getItem('roofline-theme') } catch { return null } }
  let chosen = recall()
  let mode = 'light'
  page.palette = () => data.palettes[mode]

  const setMode = (wanted) => {
    mode = wanted
    root.dataset.theme = mode
    button.textContent = mode === 'dark' ? 'Light' : 'Dark'
    button.setAttribute('aria-label', `Use ${mode === 'dark' ? 'light' : 'dark'} colours`)
    restyle()
  }

  const plotsOf = () => window.Bokeh && Bokeh.documents.length ? Bokeh.documents.flatMap((one) => one.roots()) : []

  function restyle() {
    const {ink, muted, grid} = page.palette()
    for (const plot of plotsOf()) {
      for (const model of plot.references()) {
        if (/Axis$/.test(model.type)) {
          model.setv({major_label_text_color: ink, axis_label_text_color: muted,
            axis_line_color: model.axis_line_color ? muted : null,
            major_tick_line_color: model.major_tick_line_color ? muted : null})
        } else if (/Grid$/.test(model.type) && model.grid_line_color) {
          model.setv({grid_line_color: grid})
        } else if (model.type === 'ColumnDataSource' && model.data.tone && model.data.colour) {
          const changed = {colour: [...model.data.tone].map(page.tone)}
          if (model.data.ink) changed.ink = [...model.data.tone].map(() => ink)
          model.data = {...model.data, ...changed}
        }
      }
    }
    for (const panel of Object.values(page.panels)) panel.draw()
  }

  button.hidden = false
  button.addEventListener('click', () => {
    chosen = mode === 'dark' ? 'light' : 'dark'
    remember(chosen)
    setMode(chosen)
  })
  prefers.addEventListener('change', () => { if (!chosen) setMode(prefers.matches ? 'dark' : 'light') })
  let before = null
  const toolbars = (visible) => {
    for (const plot of plotsOf()) for (const model of plot.references()) if (model.type === 'Toolbar') model.visible = visible
  }
  addEventListener('beforeprint', () => { before = mode; setMode('light'); toolbars(false) })
  addEventListener('afterprint', () => { if (before) setMode(before); toolbars(true) })

  const tip = document.getElementById('tip')
  let pointer = [0, 0]
  addEventListener('pointermove', (event) => { pointer = [event.clientX, event.clientY] }, true)
  const hide = () => { tip.hidden = true }
  addEventListener('scroll', hide, true)
  addEventListener('keydown', (event) => { if (event.key === 'Escape') hide() })
  const under = new Map()
  page.owners = {}

  const text = (source, at) => {
    const {label, text: value, kind, quality, source: from} = source.data
    const list = make('dl')
    const add = (name, content) => { if (content) list.append(make('dt', {textContent: name}), make('dd', {textContent: content})) }
    add('value', value && value[at])
    add('kind', kind && kind[at])
    add('quality', quality && quality[at])
    add('source', from && from[at])
    return [make('strong', {textContent: label[at]}), list]
  }

  // called by Bokeh for each renderer of a plot: what of it is under the pointer
  page.hover = (name, hit) => {
    const source = hit.renderer.data_source
    const key = `${name} ${source.id}`
    const indices = [...hit.index.indices, ...(hit.index.multiline_indices ? Object.keys(hit.index.multiline_indices).map(Number) : [])]
    const usable = source.name === 'points' ? indices.filter((at) => !isNaN(source.data.x[at])) : indices
    if (usable.length) under.set(key, [source, usable])
    else under.delete(key)
    const found = [...under].filter(([one]) => one.startsWith(name + ' ')).map(([, value]) => value)
    const [best] = found.sort((a, b) => (b[0].name === 'points') - (a[0].name === 'points'))
    if (!best) return hide()
    const panel = page.owners[name]
    const [from, hits] = best
    const at = hits[hits.length - 1]
    const content = panel && panel.about && ['points', 'cells'].includes(from.name) ? panel.about(from, at) : text(from, at)
    if (hits.length > 1) content.push(make('div', {className: 'sub', textContent: `and ${hits.length - 1} more here`}))
    tip.replaceChildren(...content)
    tip.hidden = false
    const {width, height} = tip.getBoundingClientRect()
    const left = pointer[0] + 16 + width > innerWidth ? pointer[0] - 16 - width : pointer[0] + 16
    tip.style.left = `${Math.max(4, Math.min(left, innerWidth - width - 4))}px`
    tip.style.top = `${Math.max(4, Math.min(pointer[1] + 14, innerHeight - height - 4))}px`
  }
  page.pick = (name, source) => {
    const [at] = source.selected.indices
    source.selected.indices = []
    const panel = page.owners[name]
    if (at !== undefined && panel && panel.isolate) panel.isolate(panel.all.group[at], at)
  }

  const start = async () => {
    setMode(chosen || (prefers.matches ? 'dark' : 'light'))
    const roots = {}
    for (const element of document.querySelectorAll('[data-plot]')) {
      element.id = `plot-${element.dataset.plot}`
      element.addEventListener('pointerleave', () => { under.clear(); hide() })
      roots[data.roots[element.dataset.plot]] = element.id
    }
    if (window.Bokeh && Object.keys(roots).length) {
      await Bokeh.embed.embed_items({page: data.document}, [{docid: 'page', roots, root_ids: Object.keys(roots)}])
      for (const element of document.querySelectorAll('[data-panel]')) {
        const key = element.dataset.panel
        const Kind = page.kinds[data.panels[key].kind]
        page.panels[key] = new Kind(key, element)
        for (const one of element.querySelectorAll('[data-plot]')) page.owners[one.dataset.plot] = page.panels[key]
      }
      restyle()
    }
    root.dataset.ready = 'true'
  }
  start().catch((error) => { root.dataset.ready = 'failed'; throw error })
})()
