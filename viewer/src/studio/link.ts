// The talk with the server: questions with numbers, answers with the same; it is taken up again when it breaks.

export interface Failure { kind: "input" | "work" | "defect" | "cancelled" | "lost"; text: string; problems?: Problem[] }
export interface Problem { path: string; fact: string; advice: string; blocking?: boolean; line?: number | null; place?: (string | number)[] }
export interface Welcome {
  draft: unknown; drafts: { key: string; name: string; time: number }[];
  first?: { text: string; described: unknown }; // what a new tab begins with
  asked: Record<string, string>; // tasks under way, by the numbers of their questions
}
export type Tell = (share: number, words: string) => void;
interface Asked { task: string; given: unknown; done(result: unknown): void; failed(why: TaskError): void; tell: Tell }

/** What went wrong with a task, in the words of the server. */
export class TaskError extends Error {
  constructor(readonly failure: Failure) { super(failure.text); }
}

/** A question under way. */
export interface Question<T> { answer: Promise<T>; cancel(): void }
type Asking<T> = (tell: Tell) => Question<T>;
const TAKEN = 4409; // another page has the key of this tab

export class Link {
  private socket: WebSocket | null = null;
  private count = Date.now(); // so that no number of this tab is used twice
  private readonly asked = new Map<number, Asked>();
  private waiting: string[] = [];
  private pause = 250;
  private greeted = false;

  private readonly takers = new Map<string, (asking: Asking<unknown>) => void>();
  private readonly left: [string, Asking<unknown>][] = []; // questions of this tab before it was loaded again

  constructor(private readonly key: (fresh: boolean) => string, private readonly welcome: (said: Welcome) => void,
    private readonly state: (open: boolean) => void, private readonly saved: (done: boolean, why: string) => void) {
    this.open(false);
  }

  /** The key of this tab. */
  get tab(): string { return this.key(false); }

  /** Asks for a task; progress is told on the way. */
  ask<T>(task: string, given: object = {}, tell: Tell = () => {}): Question<T> {
    const number = ++this.count, question = this.expect<T>(number, task, given, tell);
    if (this.greeted) this.send({ ask: number, task, given });
    return question;
  }

  /** Who takes the answer to a task that was asked for before the page was loaded again. */
  resumes<T>(task: string, take: (asking: Asking<T>) => void): void { this.takers.set(task, take as (asking: Asking<unknown>) => void); }

  /** Hands out what was under way when the page was loaded. */
  resume(): void { this.left.splice(0).forEach(([task, asking]) => this.takers.get(task)?.(asking)); }

  private expect<T>(number: number, task: string, given: unknown, tell: Tell): Question<T> {
    const answer = new Promise<T>((done, failed) =>
      this.asked.set(number, { task, given, done: done as (result: unknown) => void, failed, tell }));
    return { answer, cancel: () => this.cancel(number) };
  }

  private cancel(number: number): void {
    this.send({ cancel: number });
    if (!this.greeted) this.hear({ ask: number, error: { kind: "cancelled", text: "cancelled." } }); // nobody else would say so
  }

  /** After a new connection: what the server does not know is asked again, what this page does not know was asked before it. */
  private greet(said: Welcome): void {
    this.greeted = true;
    this.asked.forEach(({ task, given }, ask) => { if (!(ask in said.asked)) this.send({ ask, task, given }); });
    for (const [number, task] of Object.entries(said.asked)) {
      if (this.asked.has(Number(number))) continue;
      const question = this.expect(Number(number), task, {}, () => {}), asked = this.asked.get(Number(number));
      question.answer.catch(() => {}); // perhaps nobody takes it
      this.left.push([task, (tell) => { if (asked) asked.tell = tell; return question; }]);
    }
    this.welcome(said);
  }

  /** Keeps a draft on the server. */
  save(draft: object): void { this.send({ save: draft }); }

  private send(message: object): void {
    const text = JSON.stringify(message);
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(text);
    else this.waiting.push(text);
  }

  private open(fresh: boolean): void {
    const address = new URL(`talk/${this.key(fresh)}`, document.baseURI);
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
    socket.addEventListener("close", ({ code }) => {
      this.state(false);
      this.greeted = false;
      window.setTimeout(() => this.open(code === TAKEN), this.pause);
      this.pause = Math.min(2 * this.pause, 5000);
    });
    this.socket = socket;
  }

  private hear(said: Said): void {
    if ("drafts" in said) this.greet(said as unknown as Welcome);
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
