// Which events of a session are out of sight, read from its end as far as somebody goes back.

const LAST = 2 ** 31 - 1; // behind every event

export class OutOfSight {
  #read;
  #spans;
  #more;

  /** `read(before)` answers spans that begin before an event, the last first; `showsAll`: as if none were there. */
  static async of(read, showsAll = false) {
    return new OutOfSight(read, await read(LAST), showsAll);
  }

  constructor(read, first, showsAll) {
    this.#read = read;
    this.#spans = showsAll ? [] : first.spans;
    this.#more = first.more && !showsAll;
    this.lastSeq = first.last_seq;
    this.summary = undefined;
    if (first.summary && !showsAll) {
      // It stands at the last place of what it is in place of, as if the system had said it.
      this.summary = { seq: first.summary_seq, kind: "system", text: first.summary, at: null, actor: { name: null } };
    }
  }

  async holds(seq) {
    return (await this.before(seq)) !== seq;
  }

  /** The event, or the next one before it that is in sight; 0 where none is. */
  async before(seq) {
    while (this.#more && this.#spans.at(-1)?.first_seq > seq) {
      const { spans, more } = await this.#read(this.#spans.at(-1).first_seq);
      this.#spans.push(...spans);
      this.#more = more;
    }
    const span = this.#spans.find(({ first_seq: first, last_seq: last }) => first <= seq && seq <= last);
    return span ? span.first_seq - 1 : seq;
  }
}
