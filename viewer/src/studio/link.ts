// The talk with the server: questions with numbers, answers with the same; it is taken up again when it breaks.

export interface Failure { kind: "input" | "work" | "defect" | "cancelled" | "lost"; text: string; problems?: Problem[] }
export interface Problem { path: string; fact: string; advice: string; blocking?: boolean; line?: number | null; place?: (string | number)[] }
export interface Welcome { draft: unknown; drafts: { key: string; name: string; time: number }[] }
type Tell = (share: number, words: string) => void;
interface Asked { task: string; given: unknown; done(result: unknown): void; failed(why: TaskError): void; tell: Tell }

/** What went wrong with a task, in the words of the server. */
export class TaskError extends Error {
  constructor(readonly failure: Failure) { super(failure.text); }
}

/** A question under way. */
export interface Question<T> { answer: Promise<T>; cancel(): void }

export class Link {
  private socket: WebSocket | null = null;
  private count = 0;
  private readonly asked = new Map<number, Asked>();
  private waiting: string[] = [];
  private pause = 250;

  constructor(readonly tab: string, private readonly welcome: (said: Welcome) => void,
    private readonly state: (open: boolean) => void, private readonly saved: (done: boolean, why: string) => void) {
    this.open();
  }

  /** Asks for a task; progress is told on the way. */
  ask<T>(task: string, given: object = {}, tell: Tell = () => {}): Question<T> {
    const number = ++this.count;
    const answer = new Promise<T>((done, failed) => {
      this.asked.set(number, { task, given, done: done as (result: unknown) => void, failed, tell });
      this.send({ ask: number, task, given });
    });
    return { answer, cancel: () => this.send({ cancel: number }) };
  }

  /** Keeps a draft on the server. */
  save(draft: object): void { this.send({ save: draft }); }

  private send(message: object): void {
    const text = JSON.stringify(message);
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(text);
    else this.waiting.push(text);
  }

  private open(): void {
    const address = new URL(`talk/${this.tab}`, document.baseURI);
    address.protocol = "ws:";
    const socket = new WebSocket(address);
    socket.addEventListener("open", () => {
      this.pause = 250;
      this.state(true);
      const waiting = this.waiting;
      this.waiting = [];
      waiting.forEach((text) => socket.send(text));
    });
    socket.addEventListener("message", ({ data }) => this.hear(JSON.parse(data as string) as Said));
    socket.addEventListener("close", () => {
      this.state(false);
      this.asked.forEach(({ failed }) => failed(new TaskError({ kind: "lost", text: "the connection was lost before the answer came. Ask again." })));
      this.asked.clear();
      window.setTimeout(() => this.open(), this.pause);
      this.pause = Math.min(2 * this.pause, 5000);
    });
    this.socket = socket;
  }

  private hear(said: Said): void {
    if ("drafts" in said) this.welcome(said as Welcome);
    else if (said.saved !== undefined) this.saved(said.saved, said.text ?? "");
    const asked = said.ask === undefined ? undefined : this.asked.get(said.ask);
    if (!asked) return;
    if (said.progress !== undefined) return asked.tell(said.progress, said.words ?? "");
    this.asked.delete(said.ask!);
    if (said.error) asked.failed(new TaskError(said.error));
    else asked.done(said.result);
  }
}

interface Said { ask?: number; progress?: number; words?: string; result?: unknown; error?: Failure; saved?: boolean; text?: string }
