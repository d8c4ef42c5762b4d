// The text of the model and what is wrong with it.

import { element } from "../../dom";
import type { Room, Studio } from "../studio";

export function textPage({ draft }: Studio): Room {
  const text = element("textarea", { class: "source", spellcheck: "false", "aria-label": "Model file" });
  const problems = element("ul", { class: "problems", role: "status" });
  text.addEventListener("input", () => draft.change(text.value, text));
  draft.watchText((now, origin) => { if (origin !== text) text.value = now; });
  draft.watch(({ problems: found }) => problems.replaceChildren(
    ...found.map(({ path, fact, advice }) => element("li", {}, element("b", {}, path), ` ${fact} ${advice}`))));
  return { title: "Text", content: element("div", { class: "describe" }, text, problems) };
}
