// Keyboard shortcuts.

type Actions = Record<string, (event: KeyboardEvent) => void>;

/** Calls a function at its key until aborted, unless the focused element or the browser uses the key. */
export function onKeys(actions: Actions, until?: AbortSignal): void {
  window.addEventListener("keydown", (event) => {
    const act = actions[event.key];
    if (!act || event.ctrlKey || event.altKey || event.metaKey || isUsed(event)) return;
    event.preventDefault();
    act(event);
  }, { signal: until });
}

function isUsed({ key, target }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLElement)) return false;
  const { tagName } = target, letter = key.length === 1 && key !== " ";
  if (tagName === "SELECT" || tagName === "TEXTAREA" || target.isContentEditable || target.matches("input:not([type=range], [type=checkbox], [type=radio])")) return true;
  if (letter) return false;
  if (tagName === "INPUT") return key !== " " && !target.classList.contains("time");
  return key === " " ? tagName === "BUTTON" || tagName === "SUMMARY" : target.role === "tab" || target.role === "separator";
}
