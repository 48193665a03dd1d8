// Planes of roofs and points: toggles, isolation, how bytes are counted, labels that keep apart.
(() => {
  'use strict'
  const page = window.rooflinePage
  const {make, data} = page
  const SHAPES = {
    circle: 'M6 1a5 5 0 1 0 .01 0z', square: 'M1.5 1.5h9v9h-9z', diamond: 'M6 0l5 6-5 6-5-6z',
    triangle: 'M6 1l5.5 10H.5z', inverted_triangle: 'M6 11L.5 1h11z', plus: 'M4.5 1h3v3.5H11v3H7.5V11h-3V7.5H1v-3h3.5z',
    x: 'M1 3l2-2 3 3 3-3 2 2-3 3 3 3-2 2-3-3-3 3-2-2 3-3z', hex: 'M3 1h6l3 5-3 5H3L0 6z',
    star: 'M6 0l1.6 4.2L12 4.5 8.6 7.300 9.700 12 6 9.300 2.300 12l1.100-4.700L0 4.500l4.400-.3z', asterisk: 'M5 0h2v12H5zM0 5h12v2H0z',
  }
  const DASH = {solid: '', dashed: '5 3', dotted: '1.500 2.500', dashdot: '5 2 1 2'}
  const panels = page.panels = {}
  const sourceOf = (plot, name) => plot.renderers.map((one) => one.data_source).find((one) => one && one.name === name)
  const tone = (name) => page.palette()[name] || page.palette()[name.split(':')[0]] || page.palette().muted
  // what is known of a point or cell of a panel
  page.entry = (key, at) => {
    const {texts, names, rows} = data.about
    const [kind, title, ...said] = rows[data.panels[key].about[at]]
    return {title: texts[title], pairs: names[kind].map((name, i) => [name, texts[said[i]]])}
  }
  page.about = (key, at) => {
    const {title, pairs} = page.entry(key, at)
    return [make('strong', {textContent: title}),
      make('dl', {}, ...pairs.flatMap(([name, text]) => [make('dt', {textContent: name}), make('dd', {textContent: text})]))]
  }
  const svg = (content, width = 12) => {
    const image = document.createElementNS('http://www.w3.org/2000/svg', 'svg')
    image.setAttribute('viewBox', `0 0 ${width} 12`)
    image.setAttribute('width', width)
    image.setAttribute('height', 12)
    image.setAttribute('aria-hidden', 'true')
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path')
    for (const [name, value] of Object.entries(content)) path.setAttribute(name, value)
    image.append(path)
    return image
  }

  class Plane {
    constructor(key, element) {
      const plot = Bokeh.documents[0].get_model_by_name(key)
      Object.assign(this, {key, element, plot, basis: '', isolated: null, words: ''})
      this.data = data.panels[key]
      this.points = sourceOf(plot, 'points')
      this.lines = sourceOf(plot, 'lines')
      this.roofs = sourceOf(plot, 'roofs')
      this.labels = sourceOf(plot, 'labels')
      const copy = (source, ...names) => Object.fromEntries(names.map((name) => [name, [...source.data[name]]]))
      this.all = copy(this.points, 'x', 'group', 'basis', 'hollow', 'tone', 'marker', 'label', 'size')
      this.allRoofs = copy(this.roofs, 'x0', 'x1', 'y0', 'y1')
      this.groups = this.data.groups
      this.hidden = {engine: new Set(), dtype: new Set(['sparse']), memory: new Set(), kind: new Set(['vendor'])}
      this.controls()
      this.table()
      for (const range of [plot.x_range, plot.y_range]) {
        range.connect(range.properties.start.change, () => this.soon())
        range.connect(range.properties.end.change, () => this.soon())
      }
      plot.connect(plot.properties.inner_width.change, () => this.soon())
      plot.connect(plot.properties.inner_height.change, () => this.soon())
    }

    soon() {
      if (this.waiting) return
      this.waiting = true
      requestAnimationFrame(() => { this.waiting = false; this.label() })
    }

    controls() {
      const box = this.element.querySelector('.controls')
      const set = (title, className = '') => {
        const field = make('fieldset', {className}, make('legend', {textContent: title}))
        box.append(field)
        return field
      }
      const titles = {engine: 'Engine', dtype: 'dtype', memory: 'Memory', kind: 'Kind of roof'}
      for (const [facet, title] of Object.entries(titles)) {
        const values = [...new Set(this.roofs.data[facet])].filter(Boolean)
        if (values.length < 2) continue
        const field = set(title)
        for (const value of values) {
          const check = make('input', {type: 'checkbox', name: facet, value, checked: !this.hidden[facet].has(value)})
          check.addEventListener('change', () => {
            this.hidden[facet][check.checked ? 'delete' : 'add'](value)
            this.draw()
          })
          field.append(make('label', {}, check, value))
        }
      }
      const kinds = [...new Set(this.all.basis)].filter(Boolean)
      if (kinds.length > 1) {
        const field = set('Bytes')
        for (const kind of ['', ...['minimal', 'dispatched', 'measured'].filter((one) => kinds.includes(one))]) {
          const radio = make('input', {type: 'radio', name: `basis-${this.key}`, value: kind, checked: kind === ''})
          radio.addEventListener('change', () => { this.basis = kind; this.draw() })
          field.append(make('label', {}, radio, kind || 'all, joined'))
        }
      }
      this.buttons = new Map()
      if (this.groups.length > 1 && this.groups.length <= 24) {
        const field = set('Show', 'series')
        for (const group of this.groups) {
          const at = this.all.group.indexOf(group)
          const key = make('span', {className: 'key'}, svg({d: SHAPES[this.all.marker[at]] || SHAPES.circle}))
          const button = make('button', {type: 'button', title: `Show ${group} alone`}, key, make('span', {textContent: group}))
          button.setAttribute('aria-pressed', 'false')
          button.addEventListener('click', () => this.isolate(group))
          const tones = new Set(this.all.tone.filter((_, one) => this.all.group[one] === group && !this.all.hollow[one]))
          this.buttons.set(group, [button, key, tones.size > 1 ? 'ink' : this.all.tone[at]])
          field.append(button)
        }
      } else if (this.groups.length > 24) {
        const input = make('input', {type: 'search', placeholder: 'part of a name', ariaLabel: 'Show points whose name holds this'})
        input.addEventListener('input', () => { this.words = input.value.toLowerCase(); this.draw() })
        set('Show').append(input)
      }
      this.legend = make('div', {className: 'tools'})
      this.element.querySelector('.plot').after(this.legend)
    }

    table() {
      const details = this.element.querySelector('details.data')
      details.addEventListener('toggle', () => {
        const holder = details.querySelector('.holder')
        if (!details.open || holder.hasChildNodes()) return
        const entries = this.data.about.map((_, at) => page.entry(this.key, at))
        const names = [...new Set(entries.flatMap(({pairs}) => pairs.map(([name]) => name)))]
        const digits = (value) => String(+value.toPrecision(6))
        const [xs, ys] = [this.all.x, this.points.data.y]
        const rows = entries.map(({title, pairs}, at) => {
          const own = new Map(pairs)
          return [title, digits(xs[at]), digits(ys[at]), ...names.map((name) => own.get(name) || '')]
        })
        page.table(holder, ['point', this.data.x, this.data.y, ...names], rows, new Set([1, 2]))
      })
    }

    isolate(group, clicked = -1) {
      this.isolated = this.isolated === group ? null : group
      const first = this.all.group.findIndex((one, at) => one === group && !this.all.hollow[at])
      this.detail(this.isolated === null ? -1 : clicked < 0 ? first : clicked)
      this.draw()
    }

    detail(at) {
      const box = this.element.querySelector('.detail')
      box.replaceChildren(...(at < 0 ? [] : page.about(this.key, at)))
    }

    about(_, at) { return page.about(this.key, at) }

    shown(at) {
      const {basis, group} = this.all
      if (this.words && !group[at].toLowerCase().includes(this.words)) return false
      return !this.basis || basis[at] === this.basis
    }

    faded(group) { return this.isolated !== null && group !== this.isolated }

    roofShown(at) {
      return Object.entries(this.hidden).every(([facet, values]) => !values.has(this.roofs.data[facet][at]))
    }

    draw() {
      const {all, points, lines, roofs} = this
      points.data = {
        ...points.data,
        x: all.x.map((x, at) => this.shown(at) ? x : NaN),
        alpha: all.group.map((group) => this.faded(group) ? 0.12 : 1),
        fill: all.tone.map((name, at) => all.hollow[at] && !this.basis ? tone('paper') : tone(name)),
        edge: all.tone.map((name, at) => all.hollow[at] && !this.basis ? tone(name) : tone('paper')),
      }
      const known = new Set(this.groups)
      lines.data = {
        ...lines.data,
        colour: [...lines.data.tone].map(tone),
        alpha: [...lines.data.role].map((role, at) => {
          const group = lines.data.group[at]
          if (role === 'join' && (this.basis || this.words)) return 0
          if (role === 'gap' && this.basis) return 0
          return known.has(group) && this.faded(group) ? 0.1 : 1
        }),
      }
      // memory roofs end where they meet the highest compute roof that is shown
      const {role} = roofs.data
      const tops = this.allRoofs.y0.filter((_, at) => role[at] === 'compute' && this.roofShown(at))
      const top = tops.length ? Math.max(...tops) : Infinity
      const slope = (at) => role[at] === 'memory' && this.allRoofs.y1[at] > this.allRoofs.y0[at]
      const end = this.allRoofs.y1.map((y, at) => slope(at) ? Math.min(y, top) : y)
      roofs.data = {
        ...roofs.data,
        x0: this.allRoofs.x0.map((x, at) => this.roofShown(at) ? x : NaN),
        x1: this.allRoofs.x1.map((x, at) => !this.roofShown(at) ? NaN
          : slope(at) ? this.allRoofs.x0[at] * end[at] / this.allRoofs.y0[at] : x),
        y1: end,
        colour: [...roofs.data.tone].map(tone),
      }
      for (const [group, [button, key, name]] of this.buttons) {
        button.setAttribute('aria-pressed', String(this.isolated === group))
        key.style.color = tone(name)
        key.querySelector('path').setAttribute('fill', 'currentColor')
      }
      this.keys()
      this.label()
    }

    keys() {
      const entry = (image, text, title = '') => make('span', {className: 'count', title}, image, ' ', text)
      const {roofs} = this
      const found = []
      for (let at = 0; at < roofs.data.label.length; at++) {
        if (roofs.data.role[at] !== 'memory' || !this.roofShown(at)) continue
        const look = {d: 'M0 6h26', fill: 'none', stroke: roofs.data.colour[at], 'stroke-width': roofs.data.width[at], 'stroke-dasharray': DASH[roofs.data.dash[at]] || ''}
        found.push(entry(svg(look, 26), roofs.data.label[at] + (roofs.data.binding[at] ? ' (binds)' : ''), roofs.data.source[at]))
      }
      for (const name of new Set(this.all.tone)) found.push(entry(svg({d: SHAPES.circle, fill: tone(name)}), `verdict: ${name}`))
      if (new Set(this.all.size).size > 2) found.push(entry('', 'size: time'))
      this.legend.replaceChildren(...found)
    }

    label() {
      const {plot, all, roofs, lines} = this
      const [width, height] = [plot.inner_width, plot.inner_height]
      if (!width || !height) return
      const scale = (range, length, log, flip) => {
        const f = log ? Math.log : (v) => v
        const [a, b] = [f(range.start), f(range.end)]
        return (v) => flip ? length - (f(v) - a) / (b - a) * length : (f(v) - a) / (b - a) * length
      }
      const sx = scale(plot.x_range, width, this.plot.x_scale.type === 'LogScale', false)
      const sy = scale(plot.y_range, height, this.plot.y_scale.type === 'LogScale', true)
      const back = (v, range, length, log, flip) => {
        const part = flip ? 1 - v / length : v / length
        return log ? range.start * Math.pow(range.end / range.start, part) : range.start + part * (range.end - range.start)
      }
      const boxes = [] // everything drawn; hard: what no label may cover
      const hard = []
      const lie = (x0, y0, x1, y1) => {
        const steps = Math.max(2, Math.ceil(Math.hypot(x1 - x0, y1 - y0) / 7))
        for (let i = 0; i <= steps; i++) {
          const [x, y] = [x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps]
          if (x >= -5 && x <= width + 5 && y >= -5 && y <= height + 5) boxes.push([x - 1.5, y - 1.5, x + 1.5, y + 1.5])
        }
      }
      for (let at = 0; at < roofs.data.x0.length; at++) {
        if (this.roofShown(at)) lie(sx(roofs.data.x0[at]), sy(roofs.data.y0[at]), sx(roofs.data.x1[at]), sy(roofs.data.y1[at]))
      }
      for (let at = 0; at < lines.data.xs.length; at++) {
        if (!lines.data.alpha[at]) continue
        const [xs, ys] = [lines.data.xs[at], lines.data.ys[at]]
        for (let i = 1; i < xs.length; i++) lie(sx(xs[i - 1]), sy(ys[i - 1]), sx(xs[i]), sy(ys[i]))
      }
      const anchors = []
      for (let at = 0; at < all.x.length; at++) {
        if (!this.shown(at)) continue
        const [x, y] = [sx(all.x[at]), sy(this.points.data.y[at])]
        if (!(x >= 0 && x <= width && y >= 0 && y <= height)) continue
        const half = all.size[at] / 2 + 1
        hard.push([x - half, y - half, x + half, y + half])
        boxes.push(hard.at(-1))
        const text = all.label[at]
        if (text && !this.faded(all.group[at])) anchors.push([x, y, half, text, tone(all.tone[at])])
      }
      for (let at = 0; at < lines.data.xs.length; at++) {
        const text = lines.data.label[at]
        if (!text || !lines.data.alpha[at] || this.isolated !== null) continue
        const [xs, ys] = [lines.data.xs[at], lines.data.ys[at]]
        const middle = lines.data.role[at] === 'gap' ? 0.5 : 1
        const last = xs.length - 1
        anchors.push([sx(xs[last]), sy(ys[0]) + (sy(ys[last]) - sy(ys[0])) * middle, 5, text, tone(lines.data.tone[at])])
      }
      const pen = this.pen = this.pen || document.createElement('canvas').getContext('2d')
      pen.font = '12px ' + getComputedStyle(document.body).fontFamily
      const out = {x: [], y: [], text: [], colour: [], paper: [], dx: [], dy: []}
      const free = (box, among = boxes) => box[0] >= 2 && box[1] >= 2 && box[2] <= width - 2 && box[3] <= height - 2 &&
        !among.some((one) => box[0] < one[2] && one[0] < box[2] && box[1] < one[3] && one[1] < box[3])
      const put = (box, text, colour) => {
        hard.push([box[0] - 2, box[1] - 1, box[2] + 2, box[3] + 1])
        boxes.push(hard.at(-1))
        out.x.push(back(box[0], plot.x_range, width, plot.x_scale.type === 'LogScale', false))
        out.y.push(back((box[1] + box[3]) / 2, plot.y_range, height, plot.y_scale.type === 'LogScale', true))
        out.text.push(text)
        out.colour.push(colour)
        out.paper.push(tone('paper'))
        out.dx.push(0)
        out.dy.push(0)
      }
      const TALL = 14
      const seen = new Map()
      for (let at = 0; at < roofs.data.x0.length; at++) {
        if (roofs.data.role[at] !== 'compute' || !this.roofShown(at)) continue
        const y = sy(roofs.data.y0[at])
        if (!seen.has(y)) seen.set(y, [])
        seen.get(y).push(at)
      }
      for (const [y, members] of seen) {
        const first = roofs.data.label[members[0]]
        const [name, rate] = first.split(/\s{2,}/)
        const engine = name.split(' ')[0] + ' '
        const rest = members.slice(1, 3).map((at) => roofs.data.label[at].split(/\s{2,}/)[0]).map((one) =>
          one.startsWith(engine) ? one.slice(engine.length) : one)
        const names = [name, ...rest]
        const left = Math.max(2, sx(Math.min(...members.map((at) => this.allRoofs.x0[at]))))
        const colour = tone(roofs.data.tone[members[0]])
        const texts = names.map((_, at) => names.slice(0, names.length - at)).map((some) =>
          some.join(', ') + (some.length < members.length ? ', …' : '') + (rate ? `  ${rate}` : ''))
        const along = (text, tops, among) => {
          const wide = pen.measureText(text).width
          for (let x = width - wide - 4; x >= left; x -= 12) {
            const box = tops.map((top) => [x, top, x + wide, top + TALL]).find((one) => free(one, among))
            if (box) { put(box, text, colour); return true }
          }
          return false
        }
        // beside the roof where there is room, else on it, as on the contour of a map
        texts.some((text) => along(text, [y - TALL - 3, y + 3], boxes)) || along(texts.at(-1), [y - TALL / 2], hard)
      }
      const fit = (text) => {
        let short = text
        for (let keep = text.length - 1; keep > 6 && pen.measureText(short).width > width * 0.62; keep -= 2) {
          short = `${text.slice(0, Math.ceil(keep / 2))}…${text.slice(text.length - Math.floor(keep / 2))}`
        }
        return short
      }
      for (const [x, y, half, whole, colour] of anchors.slice(0, 60)) {
        const text = fit(whole)
        const wide = pen.measureText(text).width
        let done = false
        for (const far of [4, 12, 22, 36, 56, 80]) {
          const gap = half + far
          for (const [dx, dy] of [[1, 0], [1, -.7], [1, .7], [0, -1], [0, 1], [-1, -.7], [-1, .7], [-1, 0]]) {
            const left = x + dx * gap - (dx < 0 ? wide : dx === 0 ? wide / 2 : 0)
            const top = y + dy * gap - (dy < 0 ? TALL : dy === 0 ? TALL / 2 : 0)
            const box = [left, top, left + wide, top + TALL]
            if (free(box)) { put(box, text, colour); done = true; break }
          }
          if (done) break
        }
      }
      this.labels.data = out
    }
  }

  class Spans {
    constructor(key, element) {
      const {rows} = data.panels[key]
      this.plots = [...element.querySelectorAll('[data-plot]')].map((one) =>
        Bokeh.documents[0].get_model_by_name(one.dataset.plot))
      for (const plot of this.plots) plot.connect(plot.properties.inner_width.change, () => this.fit(plot))
      const details = element.querySelector('details.data')
      const grouped = rows.some((row) => row[0])
      const columns = ['variant', 'what', 'value', 'share', 'source']
      details.addEventListener('toggle', () => {
        const holder = details.querySelector('.holder')
        if (!details.open || holder.hasChildNodes()) return
        page.table(holder, grouped ? columns : columns.slice(1), grouped ? rows : rows.map((row) => row.slice(1)))
      })
    }

    draw() { for (const plot of this.plots) this.fit(plot) }

    // values stand right of their mark, or left of it where they would be cut
    fit(plot) {
      const width = plot.inner_width
      if (!width) return
      const {start, end} = plot.x_range
      const log = plot.x_scale.type === 'LogScale'
      const at = (x) => (log ? Math.log(x / start) / Math.log(end / start) : (x - start) / (end - start)) * width
      const pen = this.pen = this.pen || document.createElement('canvas').getContext('2d')
      pen.font = '12px ' + getComputedStyle(document.body).fontFamily
      for (const source of new Set(plot.renderers.map((one) => one.data_source))) {
        const {low, high, text} = source.data
        if (!text) continue
        const over = [...text].map((one, i) => at(high[i]) + 12 + pen.measureText(one).width > width &&
          at(low[i]) - 12 - pen.measureText(one).width > 0)
        source.data = {...source.data,
          tx: over.map((left, i) => left ? low[i] : high[i]),
          dx: over.map((left) => left ? -9 : 9),
          align: over.map((left) => left ? 'right' : 'left')}
      }
    }
  }

  page.kinds = {plane: Plane, spans: Spans}
  page.sourceOf = sourceOf
  page.svg = svg
  page.tone = tone
})()
