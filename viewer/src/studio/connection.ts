// Connection to the server: requests with ids, results with the same id; it reconnects automatically.

export interface Failure { kind: "input" | "work" | "defect" | "cancelled" | "lost"; message: string; problems?: Problem[] }
export interface Problem { path: string; fact: string; advice: string; blocking?: boolean; line?: number | null; key_path?: (string | number)[] }
export interface Welcome {
  draft: unknown; drafts: { key: string; name: string; time: number }[];
  first?: { text: string; described: unknown }; // initial content of a new tab
  pending: Record<string, string>; // pending tasks by id
}
export type OnProgress = (fraction: number, message: string) => void;
interface Pending { task: string; parameters: unknown; resolve(result: unknown): void; reject(reason: TaskError): void; onProgress: OnProgress }

/** Failure of a task, with the message of the server. */
export class TaskError extends Error {
  constructor(readonly failure: Failure) { super(failure.message); }
}

/** A pending task. */
export interface TaskHandle<T> { result: Promise<T>; cancel(): void }
type StartTask<T> = (onProgress: OnProgress) => TaskHandle<T>;
const CODE_REPLACED = 4409; // another page has the key of this tab

export class Connection {
  private socket: WebSocket | null = null;
  private lastId = Date.now(); // unique for this tab, also after a reload
  private readonly pending = new Map<number, Pending>();
  private outbox: string[] = [];
  private delay = 250;
  private welcomed = false;

  private readonly resumers = new Map<string, (start: StartTask<unknown>) => void>();
  private readonly resumable: [string, StartTask<unknown>][] = []; // tasks that this tab started before it was reloaded

  constructor(private readonly key: (fresh: boolean) => string, private readonly onWelcome: (message: Welcome) => void,
    private readonly onState: (open: boolean) => void, private readonly onSaved: (saved: boolean, reason: string) => void) {
    this.open(false);
  }

  /** Key of this tab. */
  get tab(): string { return this.key(false); }

  /** Starts a task on the server. */
  request<T>(task: string, parameters: object = {}, onProgress: OnProgress = () => {}): TaskHandle<T> {
    const id = ++this.lastId, handle = this.register<T>(id, task, parameters, onProgress);
    if (this.welcomed) this.send({ id, task, arguments: parameters });
    return handle;
  }

  /** Registers who receives the result of a task that was started before the page was reloaded. */
  onResume<T>(task: string, receive: (start: StartTask<T>) => void): void { this.resumers.set(task, receive as (start: StartTask<unknown>) => void); }

  /** Hands over the tasks that were pending when the page was loaded. */
  resume(): void { this.resumable.splice(0).forEach(([task, start]) => this.resumers.get(task)?.(start)); }

  private register<T>(id: number, task: string, parameters: unknown, onProgress: OnProgress): TaskHandle<T> {
    const result = new Promise<T>((resolve, reject) =>
      this.pending.set(id, { task, parameters, resolve: resolve as (result: unknown) => void, reject, onProgress }));
    return { result, cancel: () => this.cancel(id) };
  }

  private cancel(id: number): void {
    this.send({ cancel: id });
    if (!this.welcomed) this.receive({ id, error: { kind: "cancelled", message: "cancelled." } }); // the server does not know this task
  }

  /** After a new connection: sends the tasks that the server does not know, and registers those that this page does not know. */
  private greet(message: Welcome): void {
    this.welcomed = true;
    this.pending.forEach(({ task, parameters }, id) => { if (!(id in message.pending)) this.send({ id, task, arguments: parameters }); });
    for (const [id, task] of Object.entries(message.pending)) {
      if (this.pending.has(Number(id))) continue;
      const handle = this.register(Number(id), task, {}, () => {}), pending = this.pending.get(Number(id));
      handle.result.catch(() => {}); // there may be no receiver
      this.resumable.push([task, (onProgress) => { if (pending) pending.onProgress = onProgress; return handle; }]);
    }
    this.onWelcome(message);
  }

  /** Saves a draft on the server. */
  save(draft: object): void { this.send({ save: draft }); }

  private send(message: object): void {
    const data = JSON.stringify(message);
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(data);
    else this.outbox.push(data);
  }

  private open(fresh: boolean): void {
    const address = new URL(`socket/${this.key(fresh)}`, document.baseURI);
    address.protocol = "ws:";
    const socket = new WebSocket(address);
    socket.addEventListener("open", () => {
      this.delay = 250;
      this.onState(true);
      const { outbox } = this;
      this.outbox = [];
      outbox.forEach((data) => socket.send(data));
    });
    socket.addEventListener("message", ({ data }) => this.receive(JSON.parse(data as string) as Message));
    socket.addEventListener("close", ({ code }) => {
      this.onState(false);
      this.welcomed = false;
      window.setTimeout(() => this.open(code === CODE_REPLACED), this.delay);
      this.delay = Math.min(2 * this.delay, 5000);
    });
    this.socket = socket;
  }

  private receive(message: Message): void {
    if ("drafts" in message) this.greet(message as unknown as Welcome);
    else if (message.saved !== undefined) this.onSaved(message.saved, message.message ?? "");
    const pending = message.id === undefined ? undefined : this.pending.get(message.id);
    if (!pending) return;
    if (message.progress !== undefined) return pending.onProgress(message.progress, message.message ?? "");
    this.pending.delete(message.id!);
    if (message.error) pending.reject(new TaskError(message.error));
    else pending.resolve(message.result);
  }
}

interface Message { id?: number; progress?: number; message?: string; result?: unknown; error?: Failure; saved?: boolean }
