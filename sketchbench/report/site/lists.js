// The lists of a page: what lists.py wrote becomes tables of Tabulator, and the list of claims is narrowed. The address
// after # holds the filters.
(() => {
  const here = document.currentScript.src.replace(/[^/]*$/, "");

  const read = () => {
    const text = location.hash.slice(1);
    return new URLSearchParams(text.includes("=") ? text : "");
  };

  // Only what is set, in an address that people can read.
  const write = (wanted, replace) => {
    const now = read();
    for (const [key, value] of Object.entries(wanted)) {
      if (value) now.set(key, value);
      else now.delete(key);
    }
    const hash = [...now].map(([key, value]) => `${key}=${encodeURIComponent(value).replace(/%20/g, "+")}`).join("&");
    if (hash === location.hash.slice(1)) return;
    const address = hash ? `#${hash}` : location.pathname;
    if (replace) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
  };

  // The rows of claim_list.py: a claim stays where it fits, and one of its verdicts does.
  const narrowed = (box) => {
    const fields = new Map([...box.querySelectorAll("[data-filter]")].map((field) => [field.dataset.filter, field]));
    const claims = [...box.querySelectorAll(".claim")].map((claim) => ({
      claim, rows: [...claim.querySelectorAll("tr[data-verdict]")], text: claim.textContent.toLowerCase(),
    }));
    const narrow = () => {
      const wanted = [...fields].map(([name, field]) => [name, field.value.trim()]).filter(([, value]) => value);
      const fits = (part, names) =>
        wanted.every(([name, value]) => !names.includes(name) || part.dataset[name] === value);
      const about = ["method", "verdict", "scale"];
      const narrower = wanted.some(([name]) => about.includes(name));
      const words = fields.get("find").value.toLowerCase().split(/\s+/);
      let left = 0;
      for (const { claim, rows, text } of claims) {
        for (const row of rows) row.hidden = !fits(row, about);
        const some = rows.some((row) => !row.hidden);
        claim.hidden = !fits(claim, ["paper", "topic", "role"]) || (narrower && !some)
          || !words.every((word) => text.includes(word));
        left += !claim.hidden;
        const details = claim.querySelector("details");
        if (details) details.open = wanted.some(([name]) => name === "method");
      }
      const all = `${claims.length} claims`;
      box.querySelector(".listing-count").textContent = left === claims.length ? all : `${left} of ${all}`;
    };
    const follow = () => {
      for (const [name, field] of fields) field.value = read().get(name) || "";
      narrow();
    };
    let typing = null;
    for (const [name, field] of fields) {
      field.addEventListener("input", () => {
        write({ [name]: field.value.trim() }, name === "find" && typing === field);
        typing = field;
        narrow();
      });
    }
    box.querySelector(".listing-clear").addEventListener("click", () => {
      write(Object.fromEntries([...fields.keys()].map((name) => [name, ""])));
      follow();
    });
    addEventListener("popstate", follow);
    addEventListener("hashchange", follow);
    follow();
  };
  document.querySelectorAll(".claims").forEach(narrowed);

  // What is wider than its place is reached and scrolled by keyboard.
  const reach = () => {
    for (const box of document.querySelectorAll(".box, .md-typeset__scrollwrap:not(.box *)")) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  addEventListener("load", reach);
  addEventListener("resize", reach);

  const boxes = [...document.querySelectorAll(".listing")];
  if (!boxes.length) return;

  // A number is found by its digits, or by a comparison such as >= 0.5.
  const COMPARISON = /^\s*(<=|>=|<|>|=)\s*(-?[\d.]+(?:e[-+]?\d+)?)\s*$/i;
  const COMPARED = {
    "<": (a, b) => a < b, ">": (a, b) => a > b, "<=": (a, b) => a <= b, ">=": (a, b) => a >= b,
    "=": (a, b) => a === b,
  };
  const holds = (wanted, value, exactly) => {
    const [, sign, number] = COMPARISON.exec(wanted) || [];
    if (sign) return typeof value === "number" && COMPARED[sign](value, Number(number));
    const text = value === null ? "" : String(value);
    return exactly ? text === wanted : text.toLowerCase().includes(wanted.toLowerCase());
  };

  const element = (tag, settings = {}) => Object.assign(document.createElement(tag), settings);

  const digits = (value) => String(typeof value === "number" ? Number(value.toPrecision(6)) : value);

  const shown = (column, index) => {
    const value = column.values[index];
    const text = value === null ? "" : digits(value);
    const address = column.links && column.links[column.linked[index]];
    if (address) return element("a", { href: address, textContent: text });
    const name = column.kind === "verdict" && value !== null ? text.replace(/[, ]+/g, "-") : "";
    return element("span", { className: name, textContent: text, title: text.length > 40 ? text : "" });
  };

  const filter = (column, changed) => {
    const about = { className: "listing-filter", title: `Filter by ${column.title}` };
    let field;
    if (column.few) {
      field = element("select", about);
      field.append(element("option", { value: "", textContent: "all" }));
      for (const text of [...column.texts].sort()) field.append(element("option", { value: text, textContent: text }));
    } else {
      const hint = column.kind === "number" ? "> 0.5" : "part of it";
      field = element("input", { ...about, type: "search", placeholder: hint, autocomplete: "off", size: 6 });
    }
    field.setAttribute("aria-label", about.title);
    field.addEventListener(column.few ? "change" : "input", () => changed(column.name, field));
    for (const event of ["click", "keydown"]) field.addEventListener(event, (e) => e.stopPropagation());
    return field;
  };

  const unpacked = async (text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  };

  const build = async (box) => {
    const { rows: count, columns } = await unpacked(box.querySelector("script").textContent);
    for (const column of columns) {
      column.values = column.texts ? column.cells.map((at) => (at === null ? null : column.texts[at])) : column.cells;
    }
    for (const { title, meaning } of columns) {
      box.querySelector("dl").append(element("dt", { textContent: title }), element("dd", { textContent: meaning }));
    }
    const rows = Array.from({ length: count }, (_, index) => {
      const row = { _index: index };
      for (const column of columns) row[column.name] = column.values[index];
      return row;
    });
    const find = box.querySelector(".listing-find");
    const fields = new Map([["find", find]]);
    let typing = null; // the field that the last address is from: further letters do not make further addresses

    const narrow = () => {
      const wanted = [...fields].map(([name, field]) => [name, field.value.trim()]).filter(([, value]) => value);
      table.setFilter((row) => wanted.every(([name, value]) => name === "find"
        ? columns.some((column) => holds(value, row[column.name], false))
        : holds(value, row[name], fields.get(name).tagName === "SELECT")));
      const left = table.getDataCount("active");
      box.querySelector(".listing-count").textContent = left === count ? `${count} rows` : `${left} of ${count} rows`;
    };
    const changed = (name, field) => {
      write({ [name]: field.value.trim() }, field.tagName === "INPUT" && typing === field);
      typing = field;
      narrow();
    };

    const table = new Tabulator(box.querySelector(".listing-table"), {
      data: rows,
      layout: "fitDataFill",
      maxHeight: "75vh",
      placeholder: "no row is left; change the filters",
      columns: columns.map((column) => {
        const field = filter(column, changed);
        fields.set(column.name, field);
        return {
          title: column.title,
          field: column.name,
          hozAlign: column.kind === "number" ? "right" : "left",
          sorter: column.kind === "number" ? "number" : "alphanum",
          sorterParams: { alignEmptyValues: "bottom" },
          maxInitialWidth: 280,
          minWidth: 80,
          titleFormatter: () => {
            const head = element("span", { className: "listing-head" });
            const button = element("button", { type: "button", textContent: column.title, title: column.meaning });
            head.append(button, field);
            return head;
          },
          formatter: (cell) => shown(column, cell.getData()._index),
        };
      }),
    });

    const follow = () => {
      const wanted = read();
      for (const [name, field] of fields) field.value = wanted.get(name) || "";
      typing = null;
      narrow();
      const sort = wanted.get("sort") || "";
      const name = sort.replace(/^-/, "");
      if (fields.has(name)) table.setSort(name, sort.startsWith("-") ? "desc" : "asc");
      else table.clearSort();
    };
    table.on("tableBuilt", () => {
      follow();
      table.on("dataSorted", (sorters) => {
        const [first] = sorters;
        write({ sort: first ? (first.dir === "desc" ? "-" : "") + first.field : "" }, true);
      });
      // Tabulator's rows lie in a box that can be focused, which its grid may have only as a group of rows.
      box.querySelector(".tabulator").removeAttribute("aria-owns");
      box.querySelector(".tabulator-tableholder").setAttribute("role", "rowgroup");
      box.querySelector(".tabulator-table").setAttribute("role", "presentation");
      box.dataset.ready = "yes";
    });
    addEventListener("popstate", follow);
    find.addEventListener("input", () => changed("find", find));
    box.querySelector(".listing-clear").addEventListener("click", () => {
      for (const field of fields.values()) field.value = "";
      write(Object.fromEntries([...fields.keys()].map((name) => [name, ""])));
      narrow();
    });
    box.querySelector(".listing-save").addEventListener("click", () => {
      table.download("csv", `${box.dataset.name}.csv`, { bom: false });
    });
  };

  const script = element("script", { src: `${here}tabulator.min.js` });
  script.addEventListener("load", () => boxes.forEach(build));
  document.head.append(script);
})();
