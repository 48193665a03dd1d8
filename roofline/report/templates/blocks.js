// Blocks of curves or cells: colours, the key, a chooser of blocks, hover, and the table.
(() => {
  'use strict'
  const page = window.rooflinePage
  const {make, data} = page
  const DASHES = ['', '7 4', '8 3 2 3', '4 3']

  class Blocks {
    constructor(key, element) {
      Object.assign(this, {key, element, data: data.panels[key]})
      this.plots = [...element.querySelectorAll('[data-plot]')].map((one) =>
        Bokeh.documents[0].get_model_by_name(one.dataset.plot))
      this.sources = this.plots.flatMap((plot) => plot.renderers.map((one) => one.data_source))
      this.chooser()
      this.legend = make('div', {className: 'tools'})
      element.querySelector('.controls').after(this.legend)
      this.table()
    }

    chooser() {
      const {titles} = this.data
      if (titles.length < 2) return
      const choose = make('select', {id: `choose-${this.key}`})
      choose.append(make('option', {value: '', textContent: `all ${titles.length}`}))
      titles.forEach((title, at) => choose.append(make('option', {value: String(at), textContent: title})))
      choose.addEventListener('change', () => {
        [...this.element.querySelectorAll('.block')].forEach((block, at) => {
          block.hidden = choose.value !== '' && choose.value !== String(at)
        })
        for (const plot of this.plots) plot.height = choose.value === '' ? this.small : 460
      })
      this.small = this.plots[0].height
      this.element.querySelector('.controls').append(
        make('label', {htmlFor: choose.id, className: 'count', textContent: 'Show'}), choose)
    }

    table() {
      const details = this.element.querySelector('details.data')
      details.addEventListener('toggle', () => {
        const holder = details.querySelector('.holder')
        if (!details.open || holder.hasChildNodes()) return
        const entries = this.data.about.map((_, at) => page.entry(this.key, at))
        const names = [...new Set(entries.flatMap(({pairs}) => pairs.map(([name]) => name)))]
        page.table(holder, ['point', ...names], entries.map(({title, pairs}) => {
          const own = new Map(pairs)
          return [title, ...names.map((name) => own.get(name) || '')]
        }))
      })
    }

    about(source, at) { return source.data.at ? page.about(this.key, source.data.at[at]) : [] }

    colour(value) {
      const {low, high, colours} = this.data.scale
      const place = Math.max(0, Math.min(1, (value - low) / (high - low))) * (colours.length - 1)
      const at = Math.min(colours.length - 2, Math.floor(place))
      const [a, b] = [colours[at], colours[at + 1]].map((hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)))
      return '#' + a.map((one, i) => Math.round(one + (b[i] - one) * (place - at)).toString(16).padStart(2, '0')).join('')
    }

    draw() {
      const tones = new Set()
      for (const source of this.sources) {
        const {tone, value, hollow} = source.data
        if (source.name === 'cells') {
          source.data = {...source.data, colour: [...tone].map((one, at) => one ? page.tone(one) : this.colour(value[at]))}
        } else if (source.name === 'points') {
          source.data = {...source.data, colour: [...tone].map(page.tone),
            fill: [...tone].map((one, at) => page.tone(hollow[at] ? 'paper' : one))}
        } else continue
        for (const one of tone) if (one) tones.add(one)
      }
      this.keys(tones)
    }

    keys(tones) {
      const entry = (image, text) => make('span', {className: 'count'}, image, ' ', text)
      const {scale, lines} = this.data
      const found = []
      if (scale) {
        const strip = make('i')
        strip.style.background = `linear-gradient(90deg, ${scale.colours.join(', ')})`
        const marks = [0, 1, 2, 3, 4].map((one) =>
          make('b', {textContent: `${scale.low + (scale.high - scale.low) * one / 4} ${scale.unit}`}))
        found.push(make('div', {className: 'scale-bar', role: 'img', ariaLabel: `Colours from dark to light: ${scale.label}, ${scale.low} to ${scale.high} ${scale.unit}`},
          strip, make('span', {}, ...marks), scale.label))
      }
      for (const one of tones) {
        found.push(entry(page.svg({d: 'M1 1h10v10H1z', fill: page.tone(one)}), one === 'none' ? 'not modelled' : one))
      }
      for (const [name, role, shape] of lines) {
        const look = {d: 'M0 6h30', fill: 'none', stroke: page.tone(role === 'bound' ? 'muted' : 'ink'),
          'stroke-width': role === 'change' ? 2.2 : 1.4,
          'stroke-dasharray': role === 'bound' || role === 'range' ? '1.5 2.5' : DASHES[Math.max(0, shape) % DASHES.length]}
        found.push(entry(page.svg(look, 30), name))
      }
      this.legend.replaceChildren(...found)
    }
  }
  page.kinds.blocks = Blocks
})()
