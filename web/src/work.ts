// SPDX-License-Identifier: Apache-2.0
// Long work in turns: the page answers between them. Work is a generator that stops wherever it may be interrupted.

const turn_ms = 12;
const firstTurn_ms = 24; // most work is done by then, and nothing flickers

type Piece = Generator<void, void, void>;
const open = new Set<Turns>();
const firstTurns = { end: -Infinity };
addEventListener("beforeprint", () => [...open].forEach((each) => each.finish()));

/// Work for one place of the page: what is begun anew ends what went on.
export class Turns {
  private job: Piece | null = null;
  private timer = 0;

  constructor(private readonly place: HTMLElement) {}

  start(job: Piece): void {
    clearTimeout(this.timer);
    this.job = job;
    open.add(this);
    // What several places begin at once shares the first turn.
    const now = performance.now();
    if (now > firstTurns.end + turn_ms) firstTurns.end = now + firstTurn_ms;
    this.go(Math.max(0, firstTurns.end - now));
  }

  finish(): void {
    clearTimeout(this.timer);
    this.go(Infinity);
  }

  private go(time: number): void {
    const end = performance.now() + time;
    while (this.job && performance.now() < end) if (this.job.next().done) this.job = null;
    this.place.setAttribute("aria-busy", String(this.job !== null));
    if (this.job) this.timer = window.setTimeout(() => this.go(turn_ms), 0);
    else open.delete(this);
  }
}

/// Every so many steps of a loop it may be interrupted.
export function isTurn(step: number): boolean {
  return (step & 1023) === 1023;
}
