/* Heap maps in a notebook. The kernel holds the runs and answers requests for windows, blocks and pins. */

const NEAR_PIXELS = 4;

/* The theme of JupyterLab or VS Code or, elsewhere, of the browser. */
class NotebookTheme {
  constructor(root, shades) {
    Object.assign(this, { root, shadesOf: shades, acts: [] });
    this.media = matchMedia("(prefers-color-scheme: dark)");
    this.look = () => this.apply();
    this.media.addEventListener("change", this.look);
    this.observer = new MutationObserver(this.look);
    this.observer.observe(document.body, { attributeFilter: ["class", "data-jp-theme-light"] });
    this.apply();
  }

  get name() {
    const { jpThemeLight, vscodeThemeKind } = document.body.dataset;
    if (jpThemeLight) return jpThemeLight === "true" ? "light" : "dark";
    if (vscodeThemeKind) return vscodeThemeKind.includes("dark") ? "dark" : "light";
    return this.media.matches ? "dark" : "light";
  }

  shades() { return this.shadesOf[this.root.dataset.theme]; }

  changed(act) { this.acts.push(act); }

  apply() {
    if (this.root.dataset.theme === this.name) return;
    this.root.dataset.theme = this.name;
    for (const act of this.acts) act();
  }

  close() {
    this.media.removeEventListener("change", this.look);
    this.observer.disconnect();
  }
}

/* Sends requests to the kernel. A number matches each answer to its request. */
class Kernel {
  constructor(model) {
    Object.assign(this, { model, waiting: new Map(), asked: 0 });
    this.hear = (answer, buffers) => {
      this.waiting.get(answer.number)?.([answer, buffers]);
      this.waiting.delete(answer.number);
    };
    model.on("msg:custom", this.hear);
  }

  ask(map, ask, given = {}) {
    const number = ++this.asked;
    const answered = new Promise((done) => this.waiting.set(number, done));
    this.model.send({ number, map, ask, given });
    return answered;
  }

  close() { this.model.off("msg:custom", this.hear); }
}

/* Runs an action when it is wanted, one run at a time. Requests during a run cause one further run. */
class Latest {
  constructor(act) { Object.assign(this, { act, busy: false, again: false }); }

  async want() {
    this.again = true;
    if (this.busy) return;
    this.busy = true;
    while (this.again) {
      this.again = false;
      await this.act();
    }
    this.busy = false;
  }
}

class ExploredMap extends HeapMap {
  constructor(figure, data, raster, theme, ask) {
    super(figure, data, raster, theme);
    Object.assign(this, { kernel: ask, open: 0, beside: [], step: -1 });
    this.window = new Latest(() => this.fetchWindow());
    this.block = new Latest(() => this.fetchBlock());
    const does = { peak: () => this.toPeak(), before: () => this.toPin(-1), next: () => this.toPin(1) };
    for (const [name, act] of Object.entries(does))
      figure.querySelector(`[data-do=${name}]`).addEventListener("click", act);
  }

  /* True if all requests are answered and drawn. */
  get isSettled() { return !this.open && !this.window?.busy && !this.block.busy; }

  async ask(what, given) {
    this.open++;
    const answer = await this.kernel(what, given);
    this.open--;
    return answer;
  }

  /* Draws the present cells stretched, and requests the cells of the window. */
  resized() {
    this.draw();
    this.window?.want();
  }

  moved() {
    const { left, right } = this.view;
    for (const map of this.beside) {
      map.view = { ...map.view, left, right };
      map.resized();
    }
    this.resized();
  }

  async fetchWindow() {
    if (!this.canvas.clientWidth) return;
    const { width, height } = this.frame;
    const size = { columns: Math.round(width * devicePixelRatio), rows: Math.round(height * devicePixelRatio) };
    const [answer, buffers] = await this.ask("window", { ...this.view, ...size });
    const { buffer, byteOffset, byteLength } = buffers[0];
    const fine = new Raster(answer.raster, new Uint8Array(buffer ?? buffers[0], byteOffset, byteLength));
    this.paint(fine);
    this.rasters[1] = fine;
    this.draw();
  }

  pointed(point) {
    const within = (raster) => raster?.at(point) && point.address < raster.high;
    const cell = (within(this.rasters[1]) ? this.rasters[1] : this.rasters[0]).at(point);
    if (!cell) return;
    this.point = point;
    if (point.address >= cell.heap) this.named = undefined;
    this.said = this.words(point, cell);
    this.tell();
    for (const map of this.beside) {
      map.hair = point.event;
      map.draw();
    }
    if (point.address < cell.heap) this.block.want();
  }

  async fetchBlock() {
    const { event, address } = this.point;
    const near = NEAR_PIXELS * (this.view.high - this.view.low) / this.frame.height;
    const [{ block }] = await this.ask("block", { event, address, near });
    this.named = block ?? undefined;
    this.tell();
  }

  tell() {
    this.hair = undefined;
    this.say(`${this.said}${this.named ? ` ${this.tale(this.named)}` : ""}`);
  }

  tale(block) {
    const site = block.site ? ` Requested by ${block.site}.` : "";
    return `${this.name(block)} It is ${whole(block.age)} events old.${site}`;
  }

  async toPeak() {
    if (!this.peak) [this.peak] = await this.ask("pins");
    this.step = -1;
    this.named = undefined;
    this.show(this.all);
    const { event, heap, live, free, pins } = this.peak;
    this.say(`The heap peaks after event ${whole(event)} at ${bytes(heap)}: ` +
      `${bytes(live)} live and ${bytes(free)} free. ` +
      `${pins.length ? "“next pin” shows a block that separates free memory." : ""}`);
  }

  /* Shows a pin: an object that separates free memory at the peak. The pins are sorted, worst first. */
  async toPin(by) {
    if (!this.peak) await this.toPeak();
    const { event, pins } = this.peak;
    if (!pins.length) return this.say("No block separates free memory at the peak.");
    this.step = this.step < 0 ? (by > 0 ? 0 : pins.length - 1) : (this.step + by + pins.length) % pins.length;
    const pin = pins[this.step];
    this.named = pin;
    this.show(this.around(pin, event));
    this.say(`Pin ${this.step + 1} of ${pins.length} at the peak. ${this.tale(pin)} ` +
      `The free memory below it is ${bytes(pin.below)}, above it ${bytes(pin.above)}.`);
  }

  /* Returns a window with the pin's life until the peak and the free memory on both sides. */
  around({ address, size, below, above, since }, event) {
    const wide = Math.max(16, event - since), tall = below + Math.max(1, size) + above;
    return {
      left: event - 1.3 * wide, right: event + 0.3 * wide,
      low: address - below - tall / 2, high: address + size + above + tall / 2,
    };
  }

  drawMarks(context) {
    if (this.peak) this.drawMoment(context, this.peak.event, "--accent", 1.5);
    if (this.hair !== undefined) this.drawMoment(context, this.hair, "--faint", 1);
    if (this.named) this.drawBlock(context, this.named);
  }

  drawMoment(context, event, colour, width) {
    const x = this.x(event);
    context.save();
    context.setLineDash([4, 4]);
    context.strokeStyle = this.colour(colour);
    context.lineWidth = width;
    context.beginPath();
    context.moveTo(x, MARGIN.top);
    context.lineTo(x, MARGIN.top + this.frame.height);
    context.stroke();
    context.restore();
  }
}

const TOOLS = [
  ["in", "zoom in"], ["out", "zoom out"], ["all", "all"],
  ["peak", "peak"], ["before", "previous pin"], ["next", "next pin"],
];

function frameOf({ policy, caption }) {
  const figure = document.createElement("figure");
  figure.className = "map";
  figure.innerHTML = `<figcaption><strong></strong>: <span></span></figcaption>
    <canvas tabindex="0" role="img"></canvas><div class="tools"></div>
    <p class="under">Point at the map for details. Drag to zoom in; double-click to see everything. ` +
    `The keys +, − and the arrows work too.</p>`;
  figure.querySelector("strong").textContent = policy;
  figure.querySelector("span").textContent = caption;
  figure.querySelector("canvas").setAttribute("aria-label", `Heap map of ${policy}`);
  for (const [name, text] of TOOLS) {
    const button = document.createElement("button");
    button.dataset.do = name;
    button.textContent = text;
    figure.querySelector(".tools").append(button);
  }
  return figure;
}

async function render({ model, el }) {
  const root = document.createElement("div");
  root.className = "heap-maps explorer";
  root.dataset.lmSuppressShortcuts = "true"; // the focused map gets the keys instead of JupyterLab
  root.innerHTML = '<div class="ages"></div><div class="beside"></div>';
  el.append(root);
  const theme = new NotebookTheme(root, model.get("shades"));
  const kernel = new Kernel(model);
  const maps = [];
  for (const [place, data] of model.get("maps").entries()) {
    const figure = frameOf(data);
    root.querySelector(".beside").append(figure);
    const raster = new Raster(data.raster, await inflate(data.cells));
    const ask = (what, given) => kernel.ask(place, what, given);
    figure.heapMap = new ExploredMap(figure, data, raster, theme, ask);
    maps.push(figure.heapMap);
  }
  for (const map of maps) map.beside = maps.filter((other) => other !== map);
  drawAges(root.querySelector(".ages"), maps[0].data, theme);
  return () => { theme.close(); kernel.close(); };
}

export default { render };
