// Ctrl+Z and Ctrl+Y on the whole page; a field in which something is being written has its own way back first.

import type { Draft } from "../draft";

export function undoEverywhere(draft: Draft): void {
  window.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.defaultPrevented) return;
    const key = event.key.toLowerCase();
    if ((key !== "z" && key !== "y") || isBeingWritten(event.target)) return;
    event.preventDefault();
    if (key === "y" || event.shiftKey) draft.redo();
    else draft.undo();
  });
}

function isBeingWritten(target: EventTarget | null): boolean {
  if (target instanceof HTMLTextAreaElement) return target.value !== target.defaultValue;
  return target instanceof HTMLInputElement && target.matches("[type=text], [type=search], :not([type])") && target.value !== target.defaultValue;
}
