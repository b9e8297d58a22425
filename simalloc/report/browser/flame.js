/* A flame graph. Each node of a tree of call paths is a box below its caller, as wide as its share.
 *
 * The report page and notebooks use it. Positions are in percent and in rows, and the style sheet sets the height of a
 * row, so that a printed graph fits on one page. */

const NARROWEST = 0.08; // minimum width of a drawn box in percent

class Flame {
  constructor(figure) {
    this.figure = figure;
    this.data = JSON.parse(figure.querySelector("script").textContent);
    this.boxes = figure.querySelector(".boxes");
    this.under = figure.querySelector(".under");
    this.found = figure.querySelector(".found");
    const { policies, measures, colours } = this.data;
    this.chosen = { way: "top-down", policy: policies[0], width: measures[0].key, colour: colours[0] };
    this.root = 0;
    this.listen();
    this.plant();
  }

  get totals() { return this.tree.totals[this.chosen.policy]; }
  amounts(key) { return this.totals[this.data.measures.findIndex((each) => each.key === key)]; }
  frame(node) { return this.data.frames[this.tree.frames[node]]; }

  /* Shows the whole of the chosen tree. */
  plant() {
    this.tree = this.data.trees[this.chosen.way];
    this.children = this.tree.parents.map(() => []);
    this.tree.parents.forEach((parent, node) => { if (node) this.children[parent].push(node); });
    this.root = this.selected = 0;
    this.draw();
  }

  /* Returns the nodes from the root down to a node. */
  path(node) {
    const found = [];
    for (; node >= 0; node = this.tree.parents[node]) found.unshift(node);
    return found;
  }

  draw() {
    const widths = this.amounts(this.chosen.width), heats = this.amounts(this.chosen.colour);
    const above = this.path(this.root);
    const waiting = [];
    this.drawn = new Map();
    this.boxes.textContent = "";
    above.forEach((node, depth) => this.box(node, depth, 0, 100, heats, node !== this.root));
    const place = (node, depth, left, width) => {
      const below = [...this.children[node]].sort((one, other) => widths[other] - widths[one]);
      for (const child of below) {
        const wide = widths[node] ? (width * widths[child]) / widths[node] : 0;
        if (wide >= NARROWEST) waiting.push([child, depth + 1, left, wide]);
        left += wide;
      }
    };
    place(this.root, above.length - 1, 0, 100);
    let deepest = above.length - 1;
    while (waiting.length) {
      const [node, depth, left, width] = waiting.shift();
      deepest = Math.max(deepest, depth);
      this.box(node, depth, left, width, heats, false);
      place(node, depth, left, width);
    }
    this.boxes.style.setProperty("--rows", deepest + 1);
    this.search();
    this.mark();
  }

  box(node, depth, left, width, heats, above) {
    const box = document.createElement("div");
    box.className = above ? "box above" : "box";
    box.style.cssText = `left:${left}%;width:${width}%;top:calc(${depth} * var(--row))`;
    box.style.setProperty("--heat", `${6 + 64 * (heats[0] ? heats[node] / heats[0] : 0)}%`);
    box.textContent = node ? this.label(node) : "all";
    box.dataset.node = node;
    box.setAttribute("role", "treeitem");
    box.setAttribute("aria-level", depth + 1);
    box.tabIndex = -1;
    this.boxes.append(box);
    this.drawn.set(node, box);
  }

  label(node) {
    const [name, file, line] = this.frame(node);
    const parts = file.endsWith("/__init__.py") ? 2 : 1; // the folder names a package
    const place = file.split("/").slice(-parts).join("/") + (line ? `:${line}` : "");
    return line || name === "<module>" ? `${name} (${place})` : name;
  }

  /* Returns a sentence with the name, the place and the measures of a node. */
  words(node) {
    const [name, file, line] = node ? this.frame(node) : ["all code", "", 0];
    const place = file ? ` (${line ? `${file}:${line}` : file})` : "";
    const parts = this.data.measures.map(({ words }, at) => {
      const amounts = this.totals[at];
      const share = amounts[0] ? ` (${digits((100 * amounts[node]) / amounts[0])} %)` : "";
      return `${words} ${bytes(amounts[node])}${share}`;
    });
    return `${name}${place}: ${parts.join(", ")}.`;
  }

  say(node) { this.under.textContent = this.words(node); }

  mark() {
    for (const [node, box] of this.drawn) {
      box.tabIndex = node === this.selected ? 0 : -1;
      box.setAttribute("aria-selected", node === this.selected);
    }
    this.say(this.selected);
  }

  select(node, focus = true) {
    this.selected = node;
    this.mark();
    if (focus) this.drawn.get(node)?.focus({ preventScroll: true });
  }

  zoom(node) {
    this.root = this.selected = node;
    this.draw();
    this.drawn.get(node)?.focus({ preventScroll: true });
  }

  /* Zooms the top-down graph to the last node of a site's path. */
  showSite(site) {
    const node = this.data.sites[site];
    if (node === undefined) return;
    if (this.chosen.way !== "top-down") this.choose("way", "top-down");
    this.zoom(this.tree.parents[node] > 0 ? this.tree.parents[node] : 0);
    if (!this.drawn.has(node)) this.zoom(node);
    this.select(node);
    this.figure.scrollIntoView({ block: "nearest" });
  }

  choose(name, value) {
    this.chosen[name] = value;
    const select = this.figure.querySelector(`[data-choice=${name}]`);
    if (select) select.value = value;
    if (name === "way") this.plant();
    else this.draw();
  }

  /* Highlights the boxes whose function or file contains the searched text. */
  search() {
    const text = this.figure.querySelector("input").value.trim().toLowerCase();
    const fits = (node) => node && this.frame(node).join(" ").toLowerCase().includes(text);
    for (const [node, box] of this.drawn) {
      box.classList.toggle("fits", Boolean(text && fits(node)));
      box.classList.toggle("pales", Boolean(text && !fits(node)));
    }
    if (!text) {
      this.found.textContent = "";
      return;
    }
    // the sum includes only the outermost of nested boxes
    const amounts = this.amounts(this.chosen.width);
    let count = 0, sum = 0;
    const covered = new Array(amounts.length).fill(false);
    for (let node = 1; node < amounts.length; node++) {
      const inside = covered[this.tree.parents[node]];
      covered[node] = inside || fits(node);
      if (fits(node)) count++;
      if (covered[node] && !inside) sum += amounts[node];
    }
    const share = amounts[0] ? ` (${digits((100 * sum) / amounts[0])} %)` : "";
    this.found.textContent = `${whole(count)} ${count === 1 ? "box" : "boxes"} with ${bytes(sum)}${share} together.`;
  }

  listen() {
    const { figure, boxes } = this;
    const node = (event) => {
      const box = event.target.closest(".box");
      return box ? Number(box.dataset.node) : undefined;
    };
    boxes.addEventListener("pointerover", (event) => {
      if (node(event) !== undefined) this.say(node(event));
    });
    boxes.addEventListener("pointerleave", () => this.say(this.selected));
    boxes.addEventListener("click", (event) => {
      if (node(event) !== undefined) this.zoom(node(event));
    });
    boxes.addEventListener("keydown", (event) => this.press(event));
    for (const select of figure.querySelectorAll("select"))
      select.addEventListener("change", () => this.choose(select.dataset.choice, select.value));
    figure.querySelector("input").addEventListener("input", () => this.search());
    figure.querySelector("[data-do=out]").addEventListener("click", () => this.zoom(0));
    figure.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.target.matches("input")) return;
      event.preventDefault();
      figure.querySelector("input").focus();
    });
  }

  press(event) {
    const node = this.selected, parent = this.tree.parents[node];
    const level = this.drawn.get(node)?.ariaLevel;
    const row = [...this.drawn].filter(([, box]) => box.ariaLevel === level).map(([each]) => each);
    const beside = (step) => row[row.indexOf(node) + step] ?? node;
    const below = [...this.drawn.keys()].find((each) => this.tree.parents[each] === node);
    const does = {
      ArrowUp: () => this.select(Math.max(parent, 0)),
      ArrowDown: () => this.select(below ?? node),
      ArrowLeft: () => this.select(beside(-1)),
      ArrowRight: () => this.select(beside(1)),
      Enter: () => this.zoom(node),
      Escape: () => this.zoom(0),
      Backspace: () => this.zoom(Math.max(this.tree.parents[this.root], 0)),
    }[event.key];
    if (!does || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    does();
  }
}

function startFlames() {
  for (const figure of document.querySelectorAll(".flame")) figure.flame = new Flame(figure);
}
