// The keys of the page.

type Acts = Record<string, (event: KeyboardEvent) => void>;

/** Calls an act at its key, unless the element in focus or the browser needs the key itself. */
export function onKeys(acts: Acts): void {
  window.addEventListener("keydown", (event) => {
    const act = acts[event.key];
    if (!act || event.ctrlKey || event.altKey || event.metaKey || isTaken(event)) return;
    event.preventDefault();
    act(event);
  });
}

function isTaken({ key, target }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLElement)) return false;
  const { tagName } = target, letter = key.length === 1 && key !== " ";
  if (tagName === "SELECT") return true;
  if (letter) return false;
  if (tagName === "INPUT") return key !== " " && !target.classList.contains("time");
  return key === " " ? tagName === "BUTTON" || tagName === "SUMMARY" : target.role === "tab" || target.role === "separator";
}
