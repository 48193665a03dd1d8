// Engines over time: bins of the whole capture, summed anew for what is in view.
(() => {
  'use strict'
  const page = window.rooflinePage
  const {make, data} = page
  const MOST = 320
  const FULL = 1000
  const FILL = 0.86
  const unpack = (text) => {
    const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0))
    return new Uint16Array(bytes.buffer)
  }
  const time = (seconds) => {
    for (const [scale, unit] of [[1, 's'], [1e-3, 'ms'], [1e-6, 'µs'], [1e-9, 'ns']]) {
      if (Math.abs(seconds) >= scale || unit === 'ns') return `${+(seconds / scale).toPrecision(4)} ${unit}`
    }
  }

  class Timeline {
    constructor(key, element) {
      this.blocks = data.panels[key].blocks.map((lanes, number) => ({
        lanes: lanes.map((lane) => ({...lane, working: unpack(lane.working), active: unpack(lane.active)})),
        plot: Bokeh.documents[0].get_model_by_name(`${key}-${number}`),
      }))
      const range = this.blocks[0].plot.x_range
      this.whole = [range.start, range.end]
      for (const end of ['start', 'end']) {
        range.connect(range.properties[end].change, () => {
          if (this.waiting) return
          this.waiting = true
          requestAnimationFrame(() => { this.waiting = false; this.draw() })
        })
      }
      const controls = element.querySelector('.controls')
      const step = (text, title, change) => {
        const button = make('button', {type: 'button', textContent: text, title})
        button.addEventListener('click', () => {
          const width = range.end - range.start
          const [start, end] = change(range.start, range.end, width)
          range.setv({start: Math.max(this.whole[0], start), end: Math.min(this.whole[1], end)})
        })
        controls.append(button)
      }
      step('Zoom in', 'Show the middle half', (a, b, w) => [a + w / 4, b - w / 4])
      step('Zoom out', 'Show twice as much', (a, b, w) => [a - w / 2, b + w / 2])
      step('Earlier', 'Move to earlier times', (a, b, w) => { const s = Math.max(this.whole[0], a - w / 2); return [s, s + w] })
      step('Later', 'Move to later times', (a, b, w) => { const e = Math.min(this.whole[1], b + w / 2); return [e - w, e] })
      step('All', 'Show the whole capture', () => this.whole)
      this.said = make('span', {className: 'count', role: 'status'})
      controls.append(this.said)
      const details = element.querySelector('details.data')
      details.addEventListener('toggle', () => {
        const holder = details.querySelector('.holder')
        if (!details.open || holder.hasChildNodes()) return
        const rows = data.panels[key].titles.flatMap((title, number) => this.blocks[number].lanes.map((lane) => {
          const share = (values) => (values.reduce((sum, one) => sum + one, 0) / values.length / FULL * 100).toPrecision(3) + ' %'
          return [title, lane.label, share(lane.working), share(lane.active), time(lane.end)]
        }))
        page.table(holder, ['capture', 'engine', 'working', 'active', 'of'], rows, new Set([2, 3, 4]))
      })
    }

    // the mean of each view bin, exactly, from the embedded bins it covers
    bins(lane, from, to, count) {
      const size = lane.working.length
      const width = lane.end / size
      const [first, last] = [Math.max(0, Math.floor(from / width)), Math.min(size, Math.ceil(to / width))]
      const step = Math.max(1, Math.ceil((last - first) / count))
      const found = []
      for (let at = first; at < last; at += step) {
        const end = Math.min(at + step, last)
        let [working, active] = [0, 0]
        for (let i = at; i < end; i++) { working += lane.working[i]; active += lane.active[i] }
        if (active || working) found.push([at * width, end * width, working / (end - at), active / (end - at)])
      }
      return [found, step * width]
    }

    draw() {
      let width = 0
      for (const {lanes, plot} of this.blocks) {
        const out = {left: [], right: [], bottom: [], top: [], tone: [], colour: [], alpha: [], label: [], text: []}
        lanes.forEach((lane, number) => {
          const [found, step] = this.bins(lane, plot.x_range.start, plot.x_range.end, MOST)
          width = step
          for (const [left, right, working, active] of found) {
            const say = `${time(left)} to ${time(right)}: working ${(working / 10).toFixed(1)} %, active ${(active / 10).toFixed(1)} %`
            for (const [share, alpha] of active > working ? [[active, 0.35], [working, 1]] : [[working, 1]]) {
              if (!share) continue
              out.left.push(left)
              out.right.push(right)
              out.bottom.push(number + 1)
              out.top.push(number + 1 - share / FULL * FILL)
              out.tone.push(lane.tone)
              out.colour.push(page.tone(lane.tone))
              out.alpha.push(alpha)
              out.label.push(lane.label)
              out.text.push(say)
            }
          }
        })
        page.sourceOf(plot, 'bins').data = out
      }
      this.said.textContent = `bins of ${time(width)}`
    }
  }
  page.kinds.timeline = Timeline
})()
