"use strict";
// Draws the figures of the page from its data block. Nothing is fetched and nothing from a trace is run or parsed as markup.
(() => {
  const NARROW = 640;
  const PRINT_WIDTH = 700;
  const data = JSON.parse(document.getElementById("figures-data").textContent);
  const root = document.documentElement;
  const config = {
    displaylogo: false, responsive: false, showTips: false, doubleClick: "reset",
    // The library would offer to upload a figure; this page sends nothing.
    showSendToCloud: false, plotlyServerURL: "",
    modeBarButtons: [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
  };

  const isPlain = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

  // The conventions of drawing.py: colours of the scheme, wide or narrow, names by number.
  function settled(value, key, narrow, style) {
    if (typeof value === "string") {
      const named = value.startsWith("@") && /color/.test(key);
      return named ? style.getPropertyValue("--" + value.slice(1)).trim() : value;
    }
    if (Array.isArray(value)) return value.map((item) => settled(item, key, narrow, style));
    if (!isPlain(value)) return value;
    if ("wide" in value) return settled(narrow ? value.narrow : value.wide, key, narrow, style);
    if ("names" in value) return value.names.map((place) => data.names[place]);
    if ("rows" in value) return value.rows.names.map((place) => Array(value.length).fill(data.names[place]));
    const copy = {};
    for (const name of Object.keys(value)) copy[name] = settled(value[name], name, narrow, style);
    return copy;
  }

  function draw(key, width) {
    const figure = data.figures[key];
    const box = document.getElementById(key + "-plot");
    const style = getComputedStyle(root);
    const room = width || box.clientWidth;
    const narrow = room < NARROW;
    const layout = settled(figure.layout, "layout", narrow, style);
    layout.width = room;
    layout.height = settled(figure.height, "height", narrow, style);
    return Plotly.react(box, settled(figure.data, "data", narrow, style), layout, config);
  }

  const drawAll = (width) => Promise.all(Object.keys(data.figures).map((key) => draw(key, width)));

  const zoom = (key, box, range) => Plotly.relayout(box, { [data.figures[key].axis + ".range"]: range });

  function addViews(key, box) {
    const bar = document.getElementById(key + "-views");
    for (const view of data.figures[key].views) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = view.title;
      button.addEventListener("click", () => zoom(key, box, view.range.slice()));
      bar.append(button);
    }
  }

  // Arrows walk along the points of the trace that is read, + and - zoom about the middle, 0 shows all.
  function addKeys(key, box) {
    const { axis, read, layout } = data.figures[key];
    const whole = layout[axis].range;
    let point = -1;
    box.addEventListener("keydown", (event) => {
      if (event.target !== box) return;
      const [low, high] = box.layout[axis].range;
      const middle = (low + high) / 2;
      if (event.key === "+" || event.key === "-") {
        const half = ((high - low) / 2) * (event.key === "+" ? 0.5 : 2);
        zoom(key, box, [Math.max(middle - half, whole[0]), Math.min(middle + half, whole[1])]);
      } else if (event.key === "0") {
        zoom(key, box, whole.slice());
      } else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
        const count = (box.data[read].y || []).length;
        point = (point + (event.key === "ArrowRight" ? 1 : -1) + count) % count;
        Plotly.Fx.hover(box, [{ curveNumber: read, pointNumber: point }], axis === "xaxis" ? "xy" : "x2y");
      } else if (event.key === "Escape") {
        Plotly.Fx.unhover(box);
      } else return;
      event.preventDefault();
    });
  }

  function redrawAt(width) {
    root.dataset.scheme = "light";
    return drawAll(width);
  }

  drawAll().then(() => {
    for (const key of Object.keys(data.figures)) {
      const box = document.getElementById(key + "-plot");
      addViews(key, box);
      addKeys(key, box);
    }
    let shown = root.clientWidth;
    addEventListener("resize", () => {
      if (root.clientWidth === shown) return;
      shown = root.clientWidth;
      drawAll();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll());
    addEventListener("beforeprint", () => redrawAt(PRINT_WIDTH));
    addEventListener("afterprint", () => { delete root.dataset.scheme; drawAll(); });
    root.dataset.drawn = "yes";
  });
})();
