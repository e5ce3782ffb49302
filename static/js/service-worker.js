// Notices of what waits for a person: shown when a push comes, opened by a click. It keeps nothing, answers no requests
// of pages, and is told by the desk alone: a push is encrypted for this browser (RFC 8291).

const UNREADABLE = { asked: { tag: "unreadable", title: "Countersign", body: "Something waits for you.", url: "/approvals/" }, ended: [] };

function told(event) {
  try {
    return event.data.json();
  } catch {
    return UNREADABLE; // a browser takes a subscription away whose pushes show nothing
  }
}

function notice({ title, body, tag, url }, more) {
  return self.registration.showNotification(title, { body, tag, data: { url }, ...more });
}

// How it ended takes the place of the question. Where somebody looks at the desk just now, the question is only closed.
async function end(one, isWatched) {
  const shown = await self.registration.getNotifications({ tag: one.tag });
  if (!isWatched) return notice(one, { silent: true });
  shown.forEach((old) => old.close());
}

async function show({ asked, ended }) {
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const isWatched = windows.some((page) => page.visibilityState === "visible");
  await Promise.all(ended.map((one) => end(one, isWatched)));
  if (asked) await notice(asked, { renotify: true });
}

async function open(path) {
  const url = new URL(path, self.location.origin);
  if (url.origin !== self.location.origin) return;
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const there = windows.find((page) => page.url === url.href);
  if (there) await there.focus();
  else await self.clients.openWindow(url.href);
}

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("push", (event) => event.waitUntil(show(told(event))));
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data?.url ?? "/approvals/"));
});
