// Excluding an annotator, or taking it back: asked for with a reason, which stands in the log.
import { Refusal } from "./api.js";
import { button, el, words } from "./dom.js";
import { show } from "./keys.js";
import { capital } from "./shell.js";

// The button for one annotator. Its name begins with what it says, and tells whom it is about.
export function excluder(api, person, done) {
  const verb = person.excluded ? "Reinstate" : "Exclude";
  return button(verb, () => ask(api, person, done), { class: "plain", "aria-label": `${verb} ${person.annotator}`, "data-at": `do-${person.annotator}` });
}

function ask(api, person, done) {
  const verb = person.excluded ? "reinstate" : "exclude";
  const reason = el("textarea", { id: "reason", rows: 2, maxlength: 500, required: true });
  const wanting = el("p", { class: "wanting-text", role: "alert" });
  const act = async (event) => {
    event.preventDefault();
    if (!reason.value.trim()) {
      wanting.textContent = "A reason is needed: it stands in the log.";
      reason.focus();
      return;
    }
    try {
      await api.call(`/api/admin/${verb}`, { annotator: person.annotator, reason: reason.value.trim() });
      dialog.close();
      await done();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      wanting.textContent = `${capital(error.message)}.`;
    }
  };
  const dialog = el(
    "dialog", { class: "dialog", "aria-labelledby": "ask-title" },
    el("h2", { id: "ask-title" }, `${capital(verb)} `, words(person.annotator), "?"),
    el("p", { text: person.excluded ? "Their answers count again." : "Their answers stop counting and the items are offered to others. It can be undone." }),
    el("form", { novalidate: true, on: { submit: act } }, el("div", { class: "field" }, el("label", { for: "reason", text: "Reason" }), reason), wanting,
      el("p", { class: "row end" }, el("button", { type: "submit", class: "main", text: capital(verb) }), button("Cancel", () => dialog.close(), { class: "plain" }))),
  );
  show(dialog);
  reason.focus();
}
