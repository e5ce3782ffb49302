// Events on disk until the desk has them, where there is a disk: what a killed process has not sent, the next one sends.
//
// A file is of one session: its first line opens it, each line behind is an event. Its name begins with the process that
// writes it (PID-START). Whoever finds one whose process is gone renames it, which only one of several can, and sends it.
// Written without fsync: what was recorded survives the process, and not the machine. A file is read twice where two
// machines share a folder; the client ids of its events keep each in the log once.

const SEGMENT = 4 << 20; // bytes after which a new file is begun
const NAME = /^(\d+)-(\d+)-[0-9a-f-]+\.jsonl$/;

/** A module of Node, where this runs in it: a browser has no disk, and a bundler must not look for one. */
const builtin = (name) => globalThis.process?.getBuiltinModule?.(`node:${name}`);

/** The folder of a desk and key, or undefined where there is no disk or none is wanted. */
export function folderOf({ url, key }, wanted) {
  const fs = builtin("fs");
  if (!fs || wanted === false) return undefined;
  const { env } = globalThis.process;
  const states = env.XDG_STATE_HOME || `${builtin("os").homedir()}/.local/state`;
  const base = wanted || env.COUNTERSIGN_SPOOL || `${states}/countersign/spool`;
  const name = builtin("crypto").createHash("sha256").update(`${url}\n${key}`).digest("hex").slice(0, 32);
  return `${base}/js-${name}`;
}

/** The files of this process for one session. Without a folder, and where the disk takes nothing, events wait in memory. */
export class Spool {
  #fs = builtin("fs");
  #folder;
  #opening;
  #onError;
  #file;

  constructor(folder, opening, onError) {
    this.#folder = folder;
    this.#opening = opening;
    this.#onError = onError;
  }

  /** Write an event; its file, for `sent`. */
  keep(event) {
    if (!this.#folder) return undefined;
    try {
      if (!this.#file || this.#file.size >= SEGMENT) this.#begin();
      this.#file.size += this.#fs.writeSync(this.#file.descriptor, `${event}\n`);
      this.#file.waiting += 1;
      return this.#file;
    } catch (error) {
      this.#folder = undefined;
      this.#onError(new Error(`events wait in memory alone, the spool takes none: ${error.message}`));
      return undefined;
    }
  }

  /** The desk has an event of this file, or has refused it. */
  sent(file) {
    if (!file || --file.waiting) return;
    if (this.#file === file) this.#file = undefined;
    if (file.descriptor !== undefined) this.#fs.closeSync(file.descriptor);
    this.#fs.rmSync(file.path, { force: true });
  }

  #begin() {
    this.#fs.mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const path = `${this.#folder}/${ownName()}`;
    const descriptor = this.#fs.openSync(path, "ax", 0o600);
    this.#file = { path, descriptor, waiting: 0, size: 0 };
    this.#file.size = this.#fs.writeSync(descriptor, `${JSON.stringify(this.#opening)}\n`);
  }
}

/** Files that ended processes have left, now this one's: of each what opens the session, its events, and the file. */
export function* leftBehind(folder) {
  const fs = builtin("fs");
  if (!folder || !fs.existsSync(folder)) return;
  for (const name of fs.readdirSync(folder).sort()) {
    const [, pid, start] = NAME.exec(name) ?? [];
    if (!pid || isRunning(Number(pid), start)) continue;
    const path = `${folder}/${ownName()}`;
    try {
      fs.renameSync(`${folder}/${name}`, path);
    } catch {
      continue; // another one has it
    }
    const [opening, ...events] = fs.readFileSync(path, "utf8").split("\n").filter(isWhole);
    if (events.length) yield { opening: JSON.parse(opening), events, file: { path, waiting: events.length } };
    else fs.rmSync(path, { force: true });
  }
}

/** A killed process leaves half a line. */
function isWhole(line) {
  try {
    return typeof JSON.parse(line) === "object";
  } catch {
    return false;
  }
}

function ownName() {
  const { pid } = globalThis.process;
  return `${pid}-${startOf(pid)}-${crypto.randomUUID()}.jsonl`;
}

/** When a process began, since numbers of processes come again; 0 where the system does not say. */
function startOf(pid) {
  try {
    return builtin("fs").readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1).split(" ")[19];
  } catch {
    return "0";
  }
}

function isRunning(pid, start) {
  try {
    globalThis.process.kill(pid, 0);
  } catch (error) {
    return error.code === "EPERM";
  }
  const now = startOf(pid);
  return start === "0" || now === "0" || now === start;
}
