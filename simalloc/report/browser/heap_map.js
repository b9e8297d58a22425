/* A heap map in the colours of the reader's theme, which a pointer, fingers or the keyboard zoom and move.
 *
 * The report page and the explorer in notebooks derive their maps from it. */

const MARGIN = { left: 68, right: 10, top: 8, bottom: 28 };
const STRENGTH = 0.75; // makes isolated small blocks visible, as in picture files
const STRENGTHS = Float64Array.from({ length: 256 }, (_, share) => (share / 255) ** STRENGTH);

/* The cells of a window of events and addresses. A change of theme colours them again. */
class Raster {
  /* `shape` contains columns, rows, left, cellEvents, low, cellBytes, and heap (the heap's end for each column).
   * `cells` are planes of bytes, row by row from the lowest address: the live share, the age and, if `shape.mapped`
   * is set, whether the cell is mapped. */
  constructor(shape, cells) {
    Object.assign(this, shape, { cells });
    this.image = new OffscreenCanvas(shape.columns, shape.rows);
  }

  get right() { return this.left + this.columns * this.cellEvents; }
  get high() { return this.low + this.rows * this.cellBytes; }

  /* Returns whether a cell contains memory, live or free. */
  holds(row, column) {
    const cell = row * this.columns + column;
    if (this.mapped) return this.cells[2 * this.columns * this.rows + cell] > 0;
    return this.low + (row + 0.5) * this.cellBytes < this.heap[column];
  }

  /* Colours all cells. A cell without memory is transparent. */
  paint(shades, free) {
    const { columns, rows } = this;
    const image = new ImageData(columns, rows);
    const plane = columns * rows;
    for (let row = 0, cell = 0; row < rows; row++)
      for (let column = 0; column < columns; column++, cell++) {
        const share = STRENGTHS[this.cells[cell]];
        const shade = shades[this.cells[plane + cell]];
        const pixel = 4 * ((rows - 1 - row) * columns + column);
        for (let part = 0; part < 3; part++)
          image.data[pixel + part] = share * shade[part] + (1 - share) * free[part];
        image.data[pixel + 3] = this.holds(row, column) ? 255 : 0;
      }
    this.image.getContext("2d").putImageData(image, 0, 0);
  }

  /* Returns the cell at a point, or undefined if the point is outside. Above the highest row, nothing is live. */
  at({ event, address }) {
    const column = Math.floor((event - this.left) / this.cellEvents);
    const row = Math.floor((address - this.low) / this.cellBytes);
    if (column < 0 || column >= this.columns || row < 0) return undefined;
    const cell = row < this.rows ? row * this.columns + column : undefined;
    return {
      share: (this.cells[cell] ?? 0) / 255,
      age: (this.cells[this.columns * this.rows + cell] ?? 0) / 255,
      heap: this.heap[column],
      hole: this.mapped && !this.holds(row, column),
    };
  }
}

class HeapMap {
  /* `data` contains policy, events, top, oldest and decades. `raster` covers the whole heap. */
  constructor(figure, data, raster, theme) {
    Object.assign(this, { figure, data, theme });
    this.canvas = figure.querySelector("canvas");
    this.under = figure.querySelector(".under");
    this.rasters = [raster]; // in the order of drawing: finer cells cover coarser cells
    this.all = { left: 0, right: Math.max(1, data.events), low: 0, high: Math.max(1, data.top * 1.03) };
    this.view = { ...this.all };
    this.listen();
    this.restyle();
    new ResizeObserver(() => this.resized()).observe(this.canvas);
  }

  colour(name) {
    return getComputedStyle(this.figure).getPropertyValue(name).trim();
  }

  restyle() {
    this.rasters.forEach((raster) => this.paint(raster));
    this.draw();
  }

  paint(raster) {
    raster.paint(this.theme.shades().map(rgb), rgb(this.colour("--free")));
  }

  get frame() {
    return {
      width: Math.max(1, this.canvas.clientWidth - MARGIN.left - MARGIN.right),
      height: Math.max(1, this.canvas.clientHeight - MARGIN.top - MARGIN.bottom),
    };
  }

  x(event) {
    const { left, right } = this.view;
    return MARGIN.left + ((event - left) / (right - left)) * this.frame.width;
  }

  y(address) {
    const { low, high } = this.view;
    return MARGIN.top + ((high - address) / (high - low)) * this.frame.height;
  }

  at(x, y) {
    const { left, right, low, high } = this.view;
    return {
      event: left + ((x - MARGIN.left) / this.frame.width) * (right - left),
      address: high - ((y - MARGIN.top) / this.frame.height) * (high - low),
    };
  }

  draw() {
    if (!this.canvas.clientWidth) return; // a printed page shows a picture instead
    const ratio = devicePixelRatio;
    this.canvas.width = Math.round(this.canvas.clientWidth * ratio);
    this.canvas.height = Math.round(this.canvas.clientHeight * ratio);
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.save();
    context.beginPath();
    context.rect(MARGIN.left, MARGIN.top, this.frame.width, this.frame.height);
    context.clip();
    for (const raster of this.rasters) this.drawRaster(context, raster, ratio);
    this.drawMarks(context);
    context.restore();
    this.drawAxes(context);
    if (this.drag) this.drawDrag(context);
  }

  /* Derived maps override these methods to draw over the cells and to react to changes. */
  drawMarks() {}
  resized() { this.draw(); }
  moved() { this.draw(); }
  pointed() {}

  drawRaster(context, raster, ratio) {
    const left = this.x(raster.left), right = this.x(raster.right);
    const top = this.y(raster.high), bottom = this.y(raster.low);
    context.imageSmoothingEnabled = (right - left) * ratio < 2 * raster.columns;
    context.imageSmoothingQuality = "high";
    context.clearRect(left, top, right - left, bottom - top);
    context.drawImage(raster.image, left, top, right - left, bottom - top);
    if (raster.mapped) return; // a heap with holes has no single end to draw
    context.beginPath();
    raster.heap.forEach((size, column) => {
      context.lineTo(this.x(raster.left + column * raster.cellEvents), this.y(size));
      context.lineTo(this.x(raster.left + (column + 1) * raster.cellEvents), this.y(size));
    });
    context.strokeStyle = this.colour("--ink");
    context.lineWidth = 1.25;
    context.stroke();
  }

  drawBlock(context, { address, size, since, until }, width = 2) {
    const left = this.x(since), top = this.y(address + size);
    const wide = Math.max(2, this.x(until) - left), tall = Math.max(2, this.y(address) - top);
    context.strokeStyle = this.colour("--accent");
    context.lineWidth = width;
    context.strokeRect(left - 1, top - 1, wide + 2, tall + 2);
  }

  drawAxes(context) {
    const { left, right, low, high } = this.view;
    const { width, height } = this.frame;
    context.fillStyle = context.strokeStyle = this.colour("--ink");
    context.lineWidth = 1;
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "right";
    context.textBaseline = "middle";
    const up = ticks(low, high, height / 55, true);
    for (const address of up)
      context.fillText(bytes(address, up[1] - up[0]), MARGIN.left - 6, this.y(address));
    context.textBaseline = "top";
    const across = ticks(left, right, width / 90, false);
    for (const event of across) {
      context.textAlign = this.x(event) > MARGIN.left + width - 20 ? "right" : "center";
      context.fillText(events(event, across[1] - across[0]), this.x(event), MARGIN.top + height + 6);
    }
    context.beginPath();
    context.moveTo(MARGIN.left, MARGIN.top);
    context.lineTo(MARGIN.left, MARGIN.top + height);
    context.lineTo(MARGIN.left + width, MARGIN.top + height);
    context.stroke();
  }

  drawDrag(context) {
    const { x, y, toX, toY } = this.drag;
    context.strokeStyle = this.colour("--accent");
    context.lineWidth = 2;
    context.strokeRect(x, y, toX - x, toY - y);
  }

  /* Shows a window, which is clamped to the heap and to a minimum of 8 events and 64 bytes. */
  show({ left, right, low, high }) {
    const { all } = this;
    const width = clamp(right - left, Math.min(8, all.right), all.right);
    const height = clamp(high - low, Math.min(64, all.high), all.high);
    left = clamp(left, 0, all.right - width);
    low = clamp(low, 0, all.high - height);
    this.view = { left, right: left + width, low, high: low + height };
    this.moved();
  }

  /* Zooms around the pointer or, without a pointer, around the middle of the window. */
  zoom(factor) {
    const { left, right, low, high } = this.view;
    const { event, address } = this.pointer ? this.at(this.pointer.x, this.pointer.y)
      : { event: (left + right) / 2, address: (low + high) / 2 };
    this.show({
      left: event - (event - left) * factor, right: event + (right - event) * factor,
      low: address - (address - low) * factor, high: address + (high - address) * factor,
    });
  }

  pan(across, up) {
    const { left, right, low, high } = this.view;
    const x = across * (right - left), y = up * (high - low);
    this.show({ left: left + x, right: right + x, low: low + y, high: high + y });
  }

  /* Returns a sentence about a point and its cell. */
  words(point, cell) {
    const where = `Event ${whole(point.event)}, address ${bytes(Math.max(0, point.address))}: `;
    if (point.address >= cell.heap) return `${where}above the heap (it ends at ${bytes(cell.heap)}).`;
    if (cell.hole) return `${where}${this.data.segments ? "not reserved" : "not used before"}.`;
    if (cell.share === 0) return `${where}free.`;
    const old = this.data.oldest * 10 ** ((cell.age - 1) * this.data.decades);
    return `${where}${digits(100 * cell.share)} % live, allocated ` +
      `${cell.age === 0 ? "less than " : ""}${events(digitsOf(old))} events earlier.`;
  }

  /* Returns a sentence with an object's number, size, address and lifetime. */
  name({ object, size, address, since, until }) {
    const end = until >= this.data.events ? "the end" : `event ${whole(until)}`;
    return `Object ${whole(object)}: ${whole(size)} bytes at ${bytes(address)}, ` +
      `from event ${whole(since)} to ${end}.`;
  }

  say(text) {
    this.under.textContent = text;
    this.draw();
  }

  listen() {
    const { canvas } = this;
    const place = (event) => ({ x: event.offsetX, y: event.offsetY });
    canvas.addEventListener("pointermove", (event) => {
      const { x, y } = this.pointer = place(event);
      if (this.drag) Object.assign(this.drag, { toX: x, toY: y });
      this.pointed(this.at(x, y));
    });
    canvas.addEventListener("pointerdown", (event) => {
      const { x, y } = place(event);
      this.pointed(this.at(x, y));
      if (event.pointerType === "touch") return;
      canvas.setPointerCapture(event.pointerId);
      this.drag = { x, y, toX: x, toY: y };
    });
    canvas.addEventListener("pointerleave", () => { this.pointer = undefined; });
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointerup", () => this.drop());
    canvas.addEventListener("pointercancel", () => { this.drag = undefined; });
    canvas.addEventListener("dblclick", () => this.show(this.all));
    canvas.addEventListener("keydown", (event) => this.press(event));
    const does = { in: () => this.zoom(1 / 2), out: () => this.zoom(2), all: () => this.show(this.all) };
    for (const button of this.figure.querySelectorAll("button"))
      if (does[button.dataset.do]) button.addEventListener("click", does[button.dataset.do]);
    this.theme.changed(() => this.restyle());
    listenToFingers(this);
  }

  /* Zooms if Ctrl is held. Otherwise the wheel scrolls the page. */
  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.pointer = { x: event.offsetX, y: event.offsetY };
    this.zoom(2 ** (clamp(event.deltaY, -100, 100) / 100));
  }

  drop() {
    const { drag } = this;
    this.drag = undefined;
    if (!drag || Math.abs(drag.toX - drag.x) < 8 || Math.abs(drag.toY - drag.y) < 8) {
      this.draw();
      return;
    }
    const from = this.at(Math.min(drag.x, drag.toX), Math.max(drag.y, drag.toY));
    const to = this.at(Math.max(drag.x, drag.toX), Math.min(drag.y, drag.toY));
    this.show({ left: from.event, right: to.event, low: from.address, high: to.address });
  }

  press(event) {
    const does = {
      "+": () => this.zoom(1 / 2), "-": () => this.zoom(2), 0: () => this.show(this.all),
      ArrowLeft: () => this.pan(-0.2, 0), ArrowRight: () => this.pan(0.2, 0),
      ArrowUp: () => this.pan(0, 0.2), ArrowDown: () => this.pan(0, -0.2),
    }[event.key];
    if (!does || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    does();
  }
}

/* Draws the legend of the colours above a row of maps. */
function drawAges(holder, { oldest, decades }, theme) {
  holder.innerHTML = '<span class="free"></span> free <span class="young"></span><canvas width="256" ' +
    'height="1"></canvas><span class="old"></span>';
  holder.querySelector(".young").textContent = `live, by age: ${events(digitsOf(oldest / 10 ** decades))}`;
  holder.querySelector(".old").textContent = `${events(digitsOf(oldest))} events`;
  const context = holder.querySelector("canvas").getContext("2d");
  const paint = () => theme.shades().forEach((shade, place) => {
    context.fillStyle = shade;
    context.fillRect(place, 0, 1, 1);
  });
  paint();
  theme.changed(paint);
}
