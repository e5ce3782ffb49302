// The files of a drop, those in its folders too, each with its path.

const OF_THE_SYSTEM = new Set([".DS_Store", "Thumbs.db", "desktop.ini"]);

// `entries` where the browser has them, else the files alone.
export async function filesOf({ entries, files: alone }) {
  const files = [];
  const unread = [];
  if (!entries.length) return { files: alone.map((file) => ({ file, path: "" })), unread };
  while (entries.length) {
    const entry = entries.shift();
    const path = entry.fullPath.replace(/^\//, "");
    try {
      if (entry.isDirectory) entries.unshift(...await inFolder(entry));
      else if (!OF_THE_SYSTEM.has(entry.name)) files.push({ file: await fileOf(entry), path: path.includes("/") ? path : "" });
    } catch {
      unread.push(path);
    }
  }
  return { files, unread };
}

// A SQLite file goes with the log beside it, in which the newest rows of one that is in use stand; neither goes alone.
export function withLogs(files) {
  const nameOf = ({ file, path }) => path || file.name;
  const byName = new Map(files.map((one) => [nameOf(one), one.file]));
  const isBeside = (name) => /-(wal|shm|journal)$/.test(name) && byName.has(name.slice(0, name.lastIndexOf("-")));
  return files.filter((one) => !isBeside(nameOf(one))).map((one) => ({ ...one, log: byName.get(`${nameOf(one)}-wal`) }));
}

function fileOf(entry) { return new Promise((resolve, reject) => entry.file(resolve, reject)); }

// A reader gives at most 100 entries at a time (Chromium), and none at the end.
async function inFolder(folder) {
  const reader = folder.createReader();
  const all = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return all.sort((one, other) => one.name.localeCompare(other.name));
    all.push(...some);
  }
}
