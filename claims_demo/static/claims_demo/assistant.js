// Asks the assistant without leaving the page, and comes back by itself when it is told to.
// Without this script the form works as a plain one.

const SHORTEST_WAIT = 500;
const UNNAMED_WAIT = { from: 5_000, to: 10_000 }; // another one each time, so that no herd comes
const PATIENCE = 60_000;
const GIVES_UP = 15_000;
const TICK = 200;

const panel = document.querySelector("[data-assistant]");
const part = (name) => panel.querySelector(`[data-${name}]`);
const form = part("form");
const send = part("send");
const stop = part("stop");
const box = form.elements.question;

let asking = null; // what is being asked: its text, its place, and until when it is asked again
let timer = 0;

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (asking) return;
  const suggested = event.submitter?.name === "suggestion" ? event.submitter.value : "";
  if (suggested) box.value = suggested;
  begin(box.value.trim());
});

box.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    form.requestSubmit(send);
  }
});

stop.addEventListener("click", () => {
  end("Stopped. Your question is still here.", "idle");
  box.focus();
});

function begin(text) {
  asking = { text, place: newPlace(), until: Date.now() + PATIENCE };
  box.readOnly = true;
  send.setAttribute("aria-disabled", "true");
  document.getElementById("notice")?.remove();
  box.removeAttribute("aria-invalid");
  ask();
}

function newPlace() {
  return crypto.getRandomValues(new Uint32Array(3)).join("-");
}

function end(words, state) {
  clearInterval(timer);
  asking = null;
  box.readOnly = false;
  send.removeAttribute("aria-disabled");
  send.textContent = state === "failed" ? "Try again" : "Ask";
  part("countdown").hidden = true;
  hideStop();
  say(words, state);
}

function hideStop() {
  const focused = document.activeElement === stop;
  stop.hidden = true;
  if (focused) box.focus();
}

function say(words, state) {
  const status = part("status");
  status.dataset.state = state;
  status.textContent = words;
}

async function ask() {
  const mine = asking;
  say("Asking …", "asking");
  let response;
  let body;
  try {
    response = await fetch(form.action, {
      method: "POST",
      headers: {
        Accept: "application/json",
        "Content-Type": "application/json",
        "Idempotency-Key": mine.place,
        "X-CSRFToken": csrfToken(),
      },
      body: JSON.stringify({ question: mine.text }),
      signal: AbortSignal.timeout(GIVES_UP),
    });
    body = await read(response);
  } catch {
    response = null;
  }
  if (asking !== mine) return;
  if (response === null) {
    end("The service can't be reached. Your question is still here.", "failed");
  } else if (response.ok) {
    show(mine.text, body);
  } else {
    refused(response, body);
  }
}

// After logging in again elsewhere the cookie is newer than the page.
function csrfToken() {
  const cookie = document.cookie.split("; ").find((one) => one.startsWith("csrftoken="));
  return cookie ? cookie.slice("csrftoken=".length) : form.elements.csrfmiddlewaretoken.value;
}

async function read(response) {
  const isJson = (response.headers.get("Content-Type") ?? "").includes("json");
  return isJson ? response.json() : {};
}

function show(question, body) {
  const entry = part("template").content.firstElementChild.cloneNode(true);
  entry.querySelector("[data-question]").textContent = question;
  entry.querySelector("[data-answer]").textContent = body.answer;
  entry.querySelector("[data-note]").textContent =
    `You, just now · answered in ${body.seconds.toFixed(1)} s` +
    ` · ${body.input_tokens} tokens read, ${body.output_tokens} written`;
  part("conversation").prepend(entry);
  box.value = "";
  end(`Answered in ${body.seconds.toFixed(1)} s.`, "idle");
}

function refused(response, body) {
  const isNamed = response.headers.has("Retry-After");
  if (body.reason === "paused") {
    end("The assistant is paused. Your question is still here.", "failed");
  } else if (response.status === 429 || body.reason === "provider_busy" || isNamed) {
    // Only a question for which there will be room in time has a place that is kept.
    if (response.status !== 429 || !isNamed) asking.place = newPlace();
    comeBack(response, isNamed, whyNot(response, body, isNamed));
  } else if (response.status === 403) {
    end("You are not logged in any more. Log in in another tab, then try again here.", "failed");
  } else {
    if (body.field === "question") box.setAttribute("aria-invalid", "true");
    const isForAdjusters =
      body.field === "question" || response.status === 409 || response.status >= 500;
    const words = isForAdjusters ? body.detail : undefined;
    end(words ?? "That can't be answered. Your question is still here.", "failed");
  }
}

function whyNot(response, body, isNamed) {
  if (body.reason === "provider_busy") return "the provider is busy.";
  if (response.status !== 429) return "the assistant can't be reached just now.";
  return isNamed ? "there is no room just now." : "there is no room in the next few seconds.";
}

function comeBack(response, isNamed, why) {
  const at = Date.now() + (isNamed ? namedWait(response) : unnamedWait());
  if (at > asking.until) {
    end(`Try again later: ${why} Your question is still here.`, "failed");
    return;
  }
  say(`Try again shortly: ${why} Your question is asked again by itself.`, "waiting");
  stop.hidden = false;
  clearInterval(timer);
  count(at, isNamed);
  timer = setInterval(() => count(at, isNamed), TICK);
}

function namedWait(response) {
  const milliseconds = Number(response.headers.get("retry-after-ms"));
  const seconds = Number(response.headers.get("Retry-After"));
  return Math.max(SHORTEST_WAIT, milliseconds || seconds * 1000);
}

function unnamedWait() {
  return UNNAMED_WAIT.from + Math.random() * (UNNAMED_WAIT.to - UNNAMED_WAIT.from);
}

// Counts down to a moment that was named; to any other it only waits.
function count(at, isNamed) {
  const left = at - Date.now();
  const countdown = part("countdown");
  countdown.hidden = !isNamed || left <= 0;
  countdown.textContent = isNamed ? `Asked again in ${Math.ceil(left / 1000)} s` : "";
  if (left <= 0) {
    clearInterval(timer);
    ask();
  }
}
