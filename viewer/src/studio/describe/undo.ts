// Ctrl+Z and Ctrl+Y of the page; a field that is being edited handles them itself.

import type { Draft } from "../draft";

export function undoEverywhere(draft: Draft): void {
  window.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.defaultPrevented) return;
    const key = event.key.toLowerCase();
    if ((key !== "z" && key !== "y") || isBeingEdited(event.target)) return;
    event.preventDefault();
    if (key === "y" || event.shiftKey) draft.redo();
    else draft.undo();
  });
}

function isBeingEdited(target: EventTarget | null): boolean {
  if (target instanceof HTMLTextAreaElement) return target.value !== target.defaultValue;
  return target instanceof HTMLInputElement && target.matches("[type=text], [type=search], :not([type])") && target.value !== target.defaultValue;
}
