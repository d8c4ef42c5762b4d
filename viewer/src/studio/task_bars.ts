// Progress bars of pending tasks, and messages, at the bottom of the page.

import { element } from "../dom";
import { TaskError, type OnProgress, type TaskHandle } from "./connection";

export class TaskBars {
  readonly root = element("div", { class: "works", role: "status", "aria-live": "polite" });

  /** Shows a task until it ends; returns null if it failed or was cancelled. */
  async run<T>(title: string, start: (onProgress: OnProgress) => TaskHandle<T>): Promise<T | null> {
    const label = element("span", { class: "what" }, title), bar = element("progress", { max: "1", "aria-label": title });
    const handle = start((fraction, message) => { if (fraction > 0) bar.value = fraction; if (message) label.textContent = `${title}: ${message}`; });
    const cancel = element("button", { type: "button", class: "word" }, "Cancel");
    const root = element("div", { class: "work" }, label, bar, cancel);
    cancel.addEventListener("click", () => { cancel.disabled = true; handle.cancel(); });
    const timer = window.setTimeout(() => this.root.append(root), 150); // no bar for quick tasks
    try {
      return await handle.result;
    } catch (error) {
      const failure = error instanceof TaskError ? error.failure : { kind: "defect", message: String(error) };
      const cancelled = failure.kind === "cancelled";
      this.show(cancelled ? `${title}: cancelled.` : `${title}: ${failure.message}`, cancelled ? "note" : "warning");
      return null;
    } finally {
      window.clearTimeout(timer);
      root.remove();
    }
  }

  /** Shows a message: a note for some seconds, a warning until it is closed. */
  show(message: string, kind: "note" | "warning" = "note"): void {
    const close = element("button", { type: "button", class: "word", "aria-label": "Close this message" }, "×");
    const root = element("div", { class: `work ${kind}`, role: kind === "warning" ? "alert" : "status" }, element("span", { class: "what" }, message), close);
    close.addEventListener("click", () => root.remove());
    if (kind === "note") window.setTimeout(() => root.remove(), 6000);
    this.root.append(root);
    while (this.root.childElementCount > 5) this.root.firstElementChild?.remove();
  }
}
