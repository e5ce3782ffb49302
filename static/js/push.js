// Settings, Notices: has this browser show notices. What cannot be done here is said, and why.

import { gettext } from "./words.js";

const WORKER = "/service-worker.js";
const place = document.getElementById("this-browser");
const button = place.querySelector("button");
const line = place.querySelector("[role=status]");

function say(text) {
  line.textContent = text;
  line.hidden = false;
}

function whyNot() {
  if (!place.dataset.key) return gettext("This host of the desk cannot send to browsers: it has another SECRET_KEY than the installation.");
  if (!window.isSecureContext) return gettext("Browsers show notices only of pages that come by https.");
  if (!("serviceWorker" in navigator && "PushManager" in window && "Notification" in window)) return gettext("This browser shows no notices.");
  if (Notification.permission === "denied") return gettext("This browser was told to show no notices of this desk. Allow them in its settings first.");
  return "";
}

function bytes(base64url) {
  const binary = atob(base64url.replace(/-/g, "+").replace(/_/g, "/"));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

function base64url(buffer) {
  return btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

function isBoundTo(subscription, key) {
  const its = subscription.options.applicationServerKey;
  return its && base64url(its) === key;
}

async function subscribe() {
  if ((await Notification.requestPermission()) !== "granted") throw new Error(gettext("you did not allow notices"));
  await navigator.serviceWorker.register(WORKER);
  const { pushManager } = await navigator.serviceWorker.ready;
  const before = await pushManager.getSubscription();
  if (before && !isBoundTo(before, place.dataset.key)) await before.unsubscribe();
  return pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(place.dataset.key) });
}

async function tell(subscription) {
  const body = new FormData();
  body.set("endpoint", subscription.endpoint);
  body.set("p256dh", base64url(subscription.getKey("p256dh")));
  body.set("auth", base64url(subscription.getKey("auth")));
  body.set("public_key", place.dataset.key);
  const headers = { "X-CSRFToken": JSON.parse(document.body.getAttribute("hx-headers"))["x-csrftoken"] };
  const answer = await fetch(place.dataset.address, { method: "POST", body, headers });
  if (answer.status === 201) return;
  await subscription.unsubscribe();
  throw new Error(answer.status === 422 || answer.status === 503 ? await answer.text() : gettext("the desk answered %(status)s", { status: answer.status }));
}

async function add() {
  button.disabled = true;
  say(gettext("Asking the browser…"));
  try {
    await tell(await subscribe());
    location.reload();
  } catch (fault) {
    say(gettext("This browser shows no notices: %(reason)s", { reason: fault.message }));
    button.disabled = false;
  }
}

const refusal = whyNot();
if (refusal) say(refusal);
else {
  button.hidden = false;
  button.addEventListener("click", add);
}
