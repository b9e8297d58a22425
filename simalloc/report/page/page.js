/* Heap maps: coloured in the reader's theme, zoomed, and read with a pointer or the keyboard. */

const SHADES = JSON.parse(document.getElementById("shades").textContent);
const DARK = matchMedia("(prefers-color-scheme: dark)");
const MARGIN = { left: 68, right: 10, top: 8, bottom: 28 };
const STRENGTH = 0.75; // as in the package's own pictures: small blocks that stand alone are seen
const NEAR_PIXELS = 3;
const KEEP_AFTER = 200; // milliseconds without a change, so that zooming stays quick

async function inflate(text) {
  const packed = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(plain).arrayBuffer());
}

class HeapMap {
  constructor(figure, data, cells) {
    Object.assign(this, { figure, data, cells });
    this.canvas = figure.querySelector("canvas");
    this.printed = figure.querySelector(".printed");
    this.under = figure.querySelector(".under");
    this.raster = new OffscreenCanvas(data.columns, data.rows);
    this.all = { left: 0, right: data.events, low: 0, high: data.top * 1.03 };
    this.view = { ...this.all };
    this.listen();
    this.restyle();
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  /* Colours every cell anew, as the theme has it. */
  restyle() {
    const { columns, rows, cellBytes, heap } = this.data;
    const shades = SHADES[DARK.matches ? "dark" : "light"].map(rgb);
    const free = rgb(colour("--free"));
    const image = new ImageData(columns, rows);
    const plane = columns * rows;
    for (let row = 0, cell = 0; row < rows; row++)
      for (let column = 0; column < columns; column++, cell++) {
        const share = (this.cells[cell] / 255) ** STRENGTH;
        const shade = shades[this.cells[plane + cell]];
        const pixel = 4 * ((rows - 1 - row) * columns + column);
        for (let part = 0; part < 3; part++)
          image.data[pixel + part] = share * shade[part] + (1 - share) * free[part];
        image.data[pixel + 3] = (row + 0.5) * cellBytes < heap[column] ? 255 : 0;
      }
    this.raster.getContext("2d").putImageData(image, 0, 0);
    this.draw();
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
    if (!this.canvas.clientWidth) return; // in print, where its picture stands for it
    const ratio = devicePixelRatio;
    this.canvas.width = Math.round(this.canvas.clientWidth * ratio);
    this.canvas.height = Math.round(this.canvas.clientHeight * ratio);
    const context = this.canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.save();
    context.beginPath();
    context.rect(MARGIN.left, MARGIN.top, this.frame.width, this.frame.height);
    context.clip();
    this.drawCells(context, ratio);
    this.drawHeap(context);
    if (this.named !== undefined) this.drawNamed(context);
    context.restore();
    this.drawAxes(context);
    if (this.drag) this.drawDrag(context);
    clearTimeout(this.keeping);
    this.keeping = setTimeout(() => this.keep(), KEEP_AFTER);
  }

  /* Makes the picture that is printed: a browser may print a canvas blank. */
  keep() {
    this.printed.src = this.canvas.toDataURL();
  }

  drawCells(context, ratio) {
    const { columns, rows, cellEvents, cellBytes } = this.data;
    const right = this.x(columns * cellEvents);
    const top = this.y(rows * cellBytes);
    context.imageSmoothingEnabled = (right - this.x(0)) * ratio < 2 * columns;
    context.imageSmoothingQuality = "high";
    context.drawImage(this.raster, this.x(0), top, right - this.x(0), this.y(0) - top);
  }

  drawHeap(context) {
    const { heap, cellEvents } = this.data;
    context.beginPath();
    heap.forEach((size, column) => {
      context.lineTo(this.x(column * cellEvents), this.y(size));
      context.lineTo(this.x((column + 1) * cellEvents), this.y(size));
    });
    context.strokeStyle = colour("--ink");
    context.lineWidth = 1.25;
    context.stroke();
  }

  drawNamed(context) {
    const [, address, size, since, until] = this.data.stays.map((column) => column[this.named]);
    const left = this.x(since), top = this.y(address + size);
    const width = Math.max(2, this.x(until) - left), height = Math.max(2, this.y(address) - top);
    context.strokeStyle = colour("--accent");
    context.lineWidth = 2;
    context.strokeRect(left - 1, top - 1, width + 2, height + 2);
  }

  drawAxes(context) {
    const { left, right, low, high } = this.view;
    const { width, height } = this.frame;
    context.fillStyle = context.strokeStyle = colour("--ink");
    context.lineWidth = 1;
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const address of ticks(low, high, height / 55, true))
      context.fillText(bytes(address), MARGIN.left - 6, this.y(address));
    context.textBaseline = "top";
    for (const event of ticks(left, right, width / 90, false)) {
      context.textAlign = this.x(event) > MARGIN.left + width - 20 ? "right" : "center";
      context.fillText(events(event), this.x(event), MARGIN.top + height + 6);
    }
    context.beginPath();
    context.moveTo(MARGIN.left, MARGIN.top);
    context.lineTo(MARGIN.left, MARGIN.top + height);
    context.lineTo(MARGIN.left + width, MARGIN.top + height);
    context.stroke();
  }

  drawDrag(context) {
    const { x, y, toX, toY } = this.drag;
    context.strokeStyle = colour("--accent");
    context.lineWidth = 2;
    context.strokeRect(x, y, toX - x, toY - y);
  }

  /* Shows a window, kept within the whole and at least a few cells large. */
  show({ left, right, low, high }) {
    const { all } = this;
    const width = clamp(right - left, Math.min(8, all.right), all.right);
    const height = clamp(high - low, Math.min(64, all.high), all.high);
    left = clamp(left, 0, all.right - width);
    low = clamp(low, 0, all.high - height);
    this.view = { left, right: left + width, low, high: low + height };
    this.draw();
  }

  zoom(factor) {
    const { left, right, low, high } = this.view;
    const event = (left + right) / 2, address = (low + high) / 2;
    const wide = (right - left) * factor / 2, tall = (high - low) * factor / 2;
    this.show({ left: event - wide, right: event + wide, low: address - tall, high: address + tall });
  }

  pan(across, up) {
    const { left, right, low, high } = this.view;
    const x = across * (right - left), y = up * (high - low);
    this.show({ left: left + x, right: right + x, low: low + y, high: high + y });
  }

  /* Which of the objects that the map can name lies at a point, or close to it. */
  find({ event, address }) {
    const [, addresses, sizes, since, until] = this.data.stays;
    const slack = NEAR_PIXELS * (this.view.high - this.view.low) / this.frame.height;
    let best, distance = slack;
    for (let place = 0; place < addresses.length; place++) {
      if (event < since[place] || event >= until[place]) continue;
      const end = addresses[place] + sizes[place];
      const away = Math.max(addresses[place] - address, address - end, 0);
      if (away < distance) [best, distance] = [place, away];
    }
    return best;
  }

  read(point) {
    const { data } = this;
    const column = Math.floor(point.event / data.cellEvents);
    const row = Math.floor(point.address / data.cellBytes);
    const where = `Event ${whole(point.event)}, address ${bytes(Math.max(0, point.address))}: `;
    if (point.event < 0 || column >= data.columns || row < 0) return;
    if (row >= data.rows || point.address >= data.heap[column]) {
      this.named = undefined;
      this.say(`${where}above the heap, which ends at ${bytes(data.heap[column])}.`);
      return;
    }
    const cell = row * data.columns + column;
    const share = this.cells[cell] / 255;
    const age = this.cells[data.columns * data.rows + cell] / 255;
    const old = data.oldest * 10 ** ((age - 1) * data.decades);
    const live = share === 0 ? "free" : `${digits(100 * share)} % live, put there ` +
      `${age === 0 ? "less than " : ""}${events(digitsOf(old))} events before`;
    this.named = this.find(point);
    this.say(`${where}${live}.${this.named === undefined ? "" : ` ${this.name(this.named)}`}`);
  }

  name(place) {
    const [object, address, size, since, until] = this.data.stays.map((column) => column[place]);
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
      const { x, y } = place(event);
      if (this.drag) Object.assign(this.drag, { toX: x, toY: y });
      this.read(this.at(x, y));
    });
    canvas.addEventListener("pointerdown", (event) => {
      const { x, y } = place(event);
      this.read(this.at(x, y));
      if (event.pointerType === "touch") return;
      canvas.setPointerCapture(event.pointerId);
      this.drag = { x, y, toX: x, toY: y };
    });
    canvas.addEventListener("pointerup", () => this.drop());
    canvas.addEventListener("pointercancel", () => { this.drag = undefined; });
    canvas.addEventListener("dblclick", () => this.show(this.all));
    canvas.addEventListener("keydown", (event) => this.press(event));
    const does = { in: () => this.zoom(1 / 2), out: () => this.zoom(2), all: () => this.show(this.all) };
    for (const button of this.figure.querySelectorAll("button"))
      button.addEventListener("click", does[button.dataset.do]);
    DARK.addEventListener("change", () => this.restyle());
    listenToFingers(this);
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

/* The key to the colours above a row of maps. */
function drawAges(holder, { oldest, decades }) {
  holder.innerHTML = '<span class="free"></span> free <span class="young"></span><canvas width="256" ' +
    'height="1"></canvas><span class="old"></span>';
  holder.querySelector(".young").textContent = `live, by age: ${events(digitsOf(oldest / 10 ** decades))}`;
  holder.querySelector(".old").textContent = `${events(digitsOf(oldest))} events`;
  const context = holder.querySelector("canvas").getContext("2d");
  const paint = () => SHADES[DARK.matches ? "dark" : "light"].forEach((shade, place) => {
    context.fillStyle = shade;
    context.fillRect(place, 0, 1, 1);
  });
  paint();
  DARK.addEventListener("change", paint);
}

async function start() {
  for (const figure of document.querySelectorAll(".map")) {
    const data = JSON.parse(document.getElementById(figure.dataset.map).textContent);
    figure.heapMap = new HeapMap(figure, data, await inflate(data.cells));
    const ages = figure.parentElement.querySelector(".ages");
    if (!ages.firstChild) drawAges(ages, data);
  }
  document.documentElement.dataset.ready = "yes";
}

start();
