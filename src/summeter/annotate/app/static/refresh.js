// Refreshes a researcher's page while it is visible.
const main = document.getElementById("main");
const every = 1000 * Number(main.dataset.every);
let tag = null;

// Parsed as a document, since the content security policy forbids inserting markup.
function ask() {
  return new Promise((done) => {
    const request = new XMLHttpRequest();
    request.open("GET", location.href);
    request.responseType = "document";
    if (tag) request.setRequestHeader("If-None-Match", tag);
    request.onloadend = () => done(request);
    request.send();
  });
}

function notice(text) {
  const box = document.createElement("p");
  box.textContent = text;
  box.className = "notice bad-notice";
  document.getElementById("notices").replaceChildren(...(text ? [box] : []));
}

// Waits while a link is pressed or a reason is being written, which a refresh would interrupt.
const busy = () => main.matches(":active") || main.querySelector("details[open] form") !== null;

function takeOver(fresh) {
  const held = main.contains(document.activeElement) ? document.activeElement.id : "";
  const folds = new Map([...main.querySelectorAll("details[id]")].map((fold) => [fold.id, fold.open]));
  main.replaceChildren(...[...fresh.getElementById("main").childNodes].map((node) => document.importNode(node, true)));
  for (const fold of main.querySelectorAll("details[id]")) fold.open = folds.get(fold.id) ?? fold.open;
  if (held) document.getElementById(held)?.focus({ preventScroll: true });
}

async function refresh() {
  if (busy()) return;
  const reply = await ask();
  if (reply.status === 200 && reply.response && !busy()) {
    takeOver(reply.response);
    tag = reply.getResponseHeader("ETag");
  }
  const barred = reply.status === 401 || reply.status === 403;
  if (reply.status === 200 || reply.status === 304) {
    document.getElementById("fresh").textContent = `as of ${new Date().toLocaleTimeString("en")}`;
    notice("");
  } else notice(barred ? "Open the dashboard with the link that `annotate serve` printed." : "The server does not answer. Trying again.");
}

const inView = () => document.visibilityState === "visible";
document.addEventListener("visibilitychange", () => inView() && refresh());
setInterval(() => inView() && refresh(), every);
