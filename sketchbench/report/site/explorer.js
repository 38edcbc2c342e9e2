// The comparison of compressors: draws what one chooses of the list of all measurements, which is in the page.
(async () => {
  const form = document.getElementById("explorer");
  const place = document.getElementById("explored");
  const packed = document.querySelector(".listing[data-name=frontier] script").textContent;
  const looks = JSON.parse(form.dataset.looks);
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const { rows: count, columns } = await new Response(stream).json();
  const rows = Array.from({ length: count }, (_, index) => Object.fromEntries(columns.map((column) => {
    const cell = column.cells[index];
    return [column.name, column.texts && cell !== null ? column.texts[cell] : cell];
  })));

  const WIDTH = 720, HEIGHT = 400, LEFT = 56, RIGHT = 190, TOP = 14, BOTTOM = 44, LINE = 14;
  const LEAST = 1e-3; // test error
  const node = (tag, attributes, text = "") => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.textContent = text;
    return made;
  };
  const setting = (row) => `${row.data}, ${row.case}, ${row.epsilon === null ? "no privacy" : `ε = ${row.epsilon}`}`;
  const words = (number) => Number(number.toPrecision(3)).toLocaleString("en");
  const methods = [...new Set(rows.map((row) => row.label))];

  const options = (name, values) => {
    for (const value of values) form.elements[name].append(new Option(value, value));
  };
  options("setting", [...new Set(rows.map(setting))]);
  options("budget", [...new Set(rows.map((row) => row.compression))].sort((a, b) => a - b).map(String));
  const box = form.querySelector("fieldset");
  for (const method of methods) {
    const label = document.createElement("label");
    const field = Object.assign(document.createElement("input"), { type: "checkbox", name: "method", value: method });
    field.checked = method in looks && looks[method].first;
    label.append(field, ` ${method}`);
    box.append(label);
  }

  // Positions from the wanted ones, each at least a line below the one before it.
  const apart = (wanted) => {
    const placed = [];
    for (const value of wanted) placed.push(Math.max(value, placed.length ? placed[placed.length - 1] + LINE : TOP));
    const over = Math.max(0, (placed[placed.length - 1] || 0) - (HEIGHT - 4));
    return placed.map((value) => value - over);
  };

  const draw = () => {
    const asked = new FormData(form);
    const [way, view, budget] = [asked.get("way"), asked.get("view"), asked.get("budget")];
    const chosen = new Set(asked.getAll("method"));
    const target = view === "target";
    const x = (row) => (target ? row[`target_${way}`] : row[`bytes_${way}`]);
    const y = (row) => (target ? row.rounds_to_target : Math.max(LEAST, 1 - row.accuracy));
    const alike = rows.filter((row) => setting(row) === asked.get("setting") && chosen.has(row.label)
      && (budget === "all" || String(row.compression) === budget));
    const shown = alike.filter((row) => x(row) > 0 && y(row) > 0);
    const missing = [...new Set(alike.map((row) => row.label))].filter((name) => !shown.some((r) => r.label === name));
    const picture = node("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", class: "explored" });
    const over = form.elements.way.selectedOptions[0].text;
    const title = `${target ? "rounds to the target" : "test error"} over the bytes ${over}`;
    picture.append(node("title", {}, title));
    if (shown.length) {
      const span = (values, room) => [Math.min(...values) / room, Math.max(...values) * room];
      const [[x0, x1], [y0, y1]] = [span(shown.map(x), 1.3), span(shown.map(y), 1.2)];
      const across = (value) => LEFT + (Math.log(value / x0) / Math.log(x1 / x0)) * (WIDTH - LEFT - RIGHT);
      const down = (value) => HEIGHT - BOTTOM - (Math.log(value / y0) / Math.log(y1 / y0)) * (HEIGHT - TOP - BOTTOM);
      const ticks = (low, high) => {
        const found = [];
        const parts = high / low > 30 ? [1, 3] : [1, 1.5, 2, 3, 5, 7];
        for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) {
          found.push(...parts.map((part) => part * 10 ** power).filter((tick) => tick >= low && tick <= high));
        }
        return found;
      };
      for (const tick of ticks(x0, x1)) {
        const at = across(tick);
        picture.append(node("line", { x1: at, x2: at, y1: TOP, y2: HEIGHT - BOTTOM, class: "grid" }));
        picture.append(node("text", { x: at, y: HEIGHT - BOTTOM + 14, "text-anchor": "middle" }, words(tick)));
      }
      for (const tick of ticks(y0, y1)) {
        picture.append(node("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: down(tick), y2: down(tick), class: "grid" }));
        picture.append(node("text", { x: LEFT - 5, y: down(tick) + 4, "text-anchor": "end" }, words(tick)));
      }
      picture.append(node("text", { x: LEFT, y: HEIGHT - 6 }, `${title}, of a client${target ? "" : " in a round"}`));
      const best = (row) => !shown.some((other) => x(other) <= x(row) && y(other) < y(row));
      const ends = [];
      for (const method of methods) {
        const own = shown.filter((row) => row.label === method).sort((a, b) => x(a) - x(b));
        if (!own.length) continue;
        const { colour, filled } = looks[method] || { colour: "currentColor", filled: false };
        const points = own.map((row) => `${across(x(row)).toFixed(1)},${down(y(row)).toFixed(1)}`).join(" ");
        picture.append(node("polyline", { points, stroke: colour, fill: "none" }));
        for (const row of own) {
          const mark = node("circle", {
            cx: across(x(row)), cy: down(y(row)), r: best(row) ? 6 : 3, stroke: colour, fill: filled ? colour : "#fff",
          });
          mark.append(node("title", {}, `${method}, 1/${row.compression}: ${words(x(row))} bytes, ${words(y(row))}`));
          picture.append(mark);
        }
        const last = own[own.length - 1];
        ends.push({ method, colour, x: across(x(last)), y: down(y(last)) });
      }
      ends.sort((a, b) => a.y - b.y);
      apart(ends.map((end) => end.y)).forEach((at, index) => {
        const { method, colour, x: from, y: level } = ends[index];
        const lead = { x1: from, x2: WIDTH - RIGHT + 12, y1: level, y2: at, stroke: colour, class: "lead" };
        picture.append(node("line", lead));
        picture.append(node("text", { x: WIDTH - RIGHT + 15, y: at + 4 }, method));
      });
    }
    const lacking = document.createElement("p");
    const never = missing.length ? ` ${target ? "Never at the target" : "Not measured"}: ${missing.join(", ")}.` : "";
    lacking.textContent = shown.length
      ? `Large: no chosen compressor takes as few bytes and is better. Lines join the budgets of a compressor.${never}`
      : "Nothing was measured for this choice.";
    place.replaceChildren(picture, lacking);
  };
  form.hidden = false;
  form.addEventListener("input", draw);
  form.addEventListener("submit", (event) => event.preventDefault());
  draw();
})();
