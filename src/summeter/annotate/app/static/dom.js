// Creation of DOM nodes. Text is only inserted as text nodes, so that data cannot become markup.

export function el(tag, options, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(options || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") node.className = value;
    else if (name === "text") node.textContent = value;
    else if (name === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) if (child !== null && child !== undefined && child !== false) node.append(child);
  return node;
}

export const byId = (id) => document.getElementById(id);

export function button(text, act, options) {
  return el("button", { type: "button", text, on: { click: act }, ...options });
}

// The chip of a key, whose action is described by the text next to it.
// Always left to right, since brackets would be mirrored on right-to-left pages.
export const key = (name) => el("kbd", { dir: "ltr", "aria-hidden": "true", text: name });

let counted = 0;
export const fresh = (stem) => `${stem}-${(counted += 1)}`;

// Text of the data, with the campaign's language and automatic direction.
export function words(text, options) {
  return el("span", { lang: document.documentElement.dataset.texts, dir: "auto", ...options, text });
}

const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
export function reveal(node, block = "center") {
  node.scrollIntoView({ behavior: calm() ? "auto" : "smooth", block });
}
