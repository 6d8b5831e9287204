// Single-key shortcuts. They never work in text fields, are listed by `?`, and can be switched off.
import { button, el, fresh } from "./dom.js";
import { t } from "./strings.js";

// On other keyboard layouts, the key at the same position counts.
function chipOf({ key, code, shiftKey }) {
  if (/^Key[A-Z]$/.test(code) && /^\p{L}$/u.test(key) && !/^\p{Script=Latin}$/u.test(key)) return code.at(-1).toLowerCase();
  if (/^Digit\d$/.test(code) && !shiftKey && !/^[\d[\]]$/.test(key)) return code.at(-1);
  return key;
}

const TYPED = "textarea, select, input:not([type=radio]):not([type=checkbox]):not([type=range]), [contenteditable]";

export class Keys {
  constructor(keep) {
    this.keep = keep;
    this.layers = [];
    this.on = keep.get("shortcuts") !== false;
    document.addEventListener("keydown", (event) => this.pressed(event));
  }

  // Adds a layer of {keys, does, act}; `act` returns false if the key has no meaning. The last layer comes first.
  use(name, list) {
    this.layers = this.layers.filter((layer) => layer.name !== name);
    if (list.length) this.layers.push({ name, list });
  }

  known() {
    return [...this.layers].reverse().flatMap(({ list }) => list);
  }

  pressed(event) {
    // Some keyboards need AltGr or Option to type a bracket.
    const typed = event.getModifierState("AltGraph") || (event.altKey && "[]".includes(event.key));
    if (event.defaultPrevented || event.isComposing || event.metaKey || (event.altKey && !typed)) return;
    const target = event.target instanceof Element ? event.target : document.body;
    const open = document.querySelector("dialog[open]");
    if (open && open.matches(":modal")) return;
    if (event.ctrlKey && !typed) {
      if (event.key === "Enter") this.run("Ctrl+Enter", event);
      return;
    }
    if (!this.on || target.closest(TYPED)) return;
    // A narrow page shows no chips until keys are used.
    document.body.classList.add("keyed");
    this.run(chipOf(event), event);
  }

  run(name, event) {
    if (this.known().some((one) => one.keys.includes(name) && one.act(event, name) !== false)) event.preventDefault();
  }

  help() {
    const rows = this.known().map(({ shown, keys, does }) => el(
      "div", null, el("dt", null, ...(shown ?? keys).map((name) => el("kbd", { dir: "ltr", text: name }))), el("dd", { text: does }),
    ));
    const box = el("input", { type: "checkbox", checked: this.on });
    box.addEventListener("change", () => {
      this.on = box.checked;
      this.keep.set("shortcuts", this.on);
    });
    const dialog = show(
      t("keys.title"),
      el("p", { class: "muted", text: t("keys.note") }),
      el("dl", { class: "keys" }, ...rows),
      el("label", { class: "switch" }, box, t("keys.use")),
      el("p", { class: "row end" }, button(t("keys.close"), () => dialog.close(), { class: "main", autofocus: true })),
    );
  }
}

// Opens a modal dialog. When it closes, it is removed and the focus is restored.
export function show(title, ...nodes) {
  const id = fresh("title");
  const dialog = el("dialog", { class: "dialog", "aria-labelledby": id }, el("h2", { id, text: title }), ...nodes);
  const before = document.activeElement;
  document.body.append(dialog);
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (before instanceof HTMLElement && before.isConnected) before.focus();
  });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.showModal();
  return dialog;
}
