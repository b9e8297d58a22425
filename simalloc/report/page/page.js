/* The heap maps of a report. The page contains all their data. */

const SHADES = JSON.parse(document.getElementById("shades").textContent);
const DARK = matchMedia("(prefers-color-scheme: dark)");
const THEME = {
  shades: () => SHADES[DARK.matches ? "dark" : "light"],
  changed: (act) => DARK.addEventListener("change", act),
};
const NEAR_PIXELS = 3;
const KEEP_AFTER = 200; // milliseconds without a change before the printed picture is made

class PageMap extends HeapMap {
  /* Adds the cells that are coloured by the code with most of their bytes, and a button for these colours. */
  addCode(raster) {
    [this.byAge, this.byCode] = [this.rasters[0], raster];
    const button = this.figure.querySelector("[data-do=code]");
    const key = this.figure.querySelector(".codes");
    button.addEventListener("click", () => {
      const toCode = this.rasters[0] === this.byAge;
      this.rasters = [toCode ? this.byCode : this.byAge];
      button.textContent = toCode ? "by age" : "by code";
      key.hidden = !toCode;
      this.restyle();
    });
    this.canvas.addEventListener("click", () => this.showStack());
  }

  paint(raster) {
    if (raster !== this.byCode) {
      super.paint(raster);
      return;
    }
    const colours = this.data.code.names.map((_, place, { length }) =>
      rgb(this.colour(`--line-${place === length - 1 ? 6 : place}`)));
    raster.paint(colours, rgb(this.colour("--free")));
  }

  /* Shows the call path of the named object if its site is known. */
  showStack() {
    if (!this.named) return;
    const site = this.data.numbers[this.data.sites[this.data.stays[0].indexOf(this.named.object)]];
    flameOf(this.figure)?.showSite(site);
  }

  name(named) {
    if (!this.data.sites) return super.name(named);
    const place = this.data.places[this.data.sites[this.data.stays[0].indexOf(named.object)]];
    return super.name(named) + (place ? ` Requested by ${place}.` : "");
  }

  drawMarks(context) {
    if (this.named) this.drawBlock(context, this.named);
    clearTimeout(this.keeping);
    this.keeping = setTimeout(() => this.keep(), this.kept ? KEEP_AFTER : 0);
  }

  /* Makes the picture for printing, because browsers may print a canvas blank. */
  keep() {
    this.kept = true;
    const printed = this.figure.querySelector(".printed");
    printed.src = this.canvas.toDataURL();
    printed.classList.remove("still");
  }

  /* Returns the known object at a point or nearest to it, or undefined if none is within 3 pixels. */
  find({ event, address }) {
    const [objects, addresses, sizes, since, until] = this.data.stays;
    let best, distance = NEAR_PIXELS * (this.view.high - this.view.low) / this.frame.height;
    for (let place = 0; place < objects.length; place++) {
      if (event < since[place] || event >= until[place]) continue;
      const end = addresses[place] + sizes[place];
      const away = Math.max(addresses[place] - address, address - end, 0);
      if (away < distance) [best, distance] = [place, away];
    }
    return best === undefined ? undefined : {
      object: objects[best], address: addresses[best], size: sizes[best],
      since: since[best], until: until[best],
    };
  }

  pointed(point) {
    const cell = (this.byAge ?? this.rasters[0]).at(point);
    if (!cell) return;
    this.named = point.address < cell.heap ? this.find(point) : undefined;
    const rest = this.named ? this.name(this.named) : this.code(point);
    this.say([this.words(point, cell), rest].filter(Boolean).join(" "));
  }

  /* Returns a sentence with the code that requested most of a cell. */
  code(point) {
    const cell = this.byCode?.at(point);
    return cell?.share ? `Most of it was requested by ${this.data.code.names[Math.round(cell.age * 255)]}.` : "";
  }
}

/* A map of a device's memory, with the edges of its segments. */
class DevicePageMap extends PageMap {
  drawMarks(context) {
    context.strokeStyle = this.colour("--paper");
    context.lineWidth = 1;
    context.beginPath();
    this.eachSegment((low, size, since, until) => {
      if (this.y(low) - this.y(low + size) < 5) return; // lines would hide so small a segment
      for (const edge of [low, low + size]) {
        context.moveTo(this.x(since), this.y(edge));
        context.lineTo(this.x(until), this.y(edge));
      }
    });
    context.stroke();
    super.drawMarks(context);
  }

  eachSegment(act) {
    const [low, size, since, until] = this.data.segments;
    low.forEach((_, place) => act(low[place], size[place], since[place], until[place]));
  }

  words(point, cell) {
    let said = "";
    this.eachSegment((low, size, since, until) => {
      if (point.address < low || point.address >= low + size) return;
      if (point.event < since || point.event >= until) return;
      said = ` Segment of ${bytes(size)}, reserved at event ${whole(since)}.`;
    });
    return super.words(point, cell) + said;
  }
}

function flameOf(element) {
  return element.closest("article").querySelector(".flame")?.flame;
}

/* Makes each link to a site show its call path. */
function listenToPins() {
  for (const link of document.querySelectorAll("a[data-site]"))
    link.addEventListener("click", (event) => {
      const flame = flameOf(link);
      if (!flame) return;
      event.preventDefault();
      flame.showSite(link.dataset.site);
    });
}

async function start() {
  startFlames();
  listenToPins();
  for (const figure of document.querySelectorAll(".map")) {
    const data = JSON.parse(document.getElementById(figure.dataset.map).textContent);
    const raster = new Raster(data.raster, await inflate(data.cells));
    const kind = data.segments ? DevicePageMap : PageMap;
    figure.heapMap = new kind(figure, data, raster, THEME);
    if (data.code) figure.heapMap.addCode(new Raster(data.code.raster, await inflate(data.code.cells)));
    const ages = figure.parentElement.querySelector(".ages");
    if (!ages.firstChild) drawAges(ages, data, THEME);
  }
  document.documentElement.dataset.ready = "yes";
}

start();
