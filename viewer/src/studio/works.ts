// Tasks under way: a bar for each, at the foot of the page.

import { element } from "../dom";
import { TaskError, type Question } from "./link";

export class Works {
  readonly root = element("div", { class: "works", role: "status", "aria-live": "polite" });

  /** Shows a task until it ends; null where it failed or was cancelled. */
  async show<T>(title: string, question: (tell: (share: number, words: string) => void) => Question<T>): Promise<T | null> {
    const words = element("span", { class: "what" }, title), bar = element("progress", { max: "1", "aria-label": title });
    const asked = question((share, said) => { if (share > 0) bar.value = share; if (said) words.textContent = `${title}: ${said}`; });
    const cancel = element("button", { type: "button", class: "word" }, "Cancel");
    const root = element("div", { class: "work" }, words, bar, cancel);
    cancel.addEventListener("click", () => { cancel.disabled = true; asked.cancel(); });
    const timer = window.setTimeout(() => this.root.append(root), 150); // quick ones are not worth a bar
    try {
      return await asked.answer;
    } catch (error) {
      const failure = error instanceof TaskError ? error.failure : { kind: "defect", text: String(error) };
      this.say(failure.kind === "cancelled" ? `${title}: cancelled.` : `${title}: ${failure.text}`, failure.kind === "cancelled" ? "note" : "warning");
      return null;
    } finally {
      window.clearTimeout(timer);
      root.remove();
    }
  }

  /** A sentence that stays until it is closed, or a while. */
  say(text: string, kind: "note" | "warning" = "note"): void {
    const close = element("button", { type: "button", class: "word", "aria-label": "Close this message" }, "×");
    const root = element("div", { class: `work ${kind}`, role: kind === "warning" ? "alert" : "status" }, element("span", { class: "what" }, text), close);
    close.addEventListener("click", () => root.remove());
    if (kind === "note") window.setTimeout(() => root.remove(), 6000);
    this.root.append(root);
    while (this.root.childElementCount > 5) this.root.firstElementChild?.remove();
  }
}
