// The keys of the page.

type Acts = Record<string, (event: KeyboardEvent) => void>;

/** Calls an act at its key until it is told to stop, unless the element in focus or the browser needs the key itself. */
export function onKeys(acts: Acts, until?: AbortSignal): void {
  window.addEventListener("keydown", (event) => {
    const act = acts[event.key];
    if (!act || event.ctrlKey || event.altKey || event.metaKey || isTaken(event)) return;
    event.preventDefault();
    act(event);
  }, { signal: until });
}

function isTaken({ key, target }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLElement)) return false;
  const { tagName } = target, letter = key.length === 1 && key !== " ";
  if (tagName === "SELECT" || tagName === "TEXTAREA" || target.isContentEditable || target.matches("input:not([type=range], [type=checkbox], [type=radio])")) return true;
  if (letter) return false;
  if (tagName === "INPUT") return key !== " " && !target.classList.contains("time");
  return key === " " ? tagName === "BUTTON" || tagName === "SUMMARY" : target.role === "tab" || target.role === "separator";
}
