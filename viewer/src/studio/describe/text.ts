// The text of the model, and what is wrong with it.

import { element } from "../../dom";
import type { Room, Studio } from "../studio";
import { Editor } from "./editor";
import { formatOf, type Outline } from "./format";

export function textPage({ draft, link }: Studio): Room {
  let outline: Outline | null = null;
  const known = async () => ({ format: await formatOf(link).catch(() => null), outline });
  const editor = new Editor(draft, known);
  const problems = element("ul", { class: "problems", role: "status", "aria-label": "Problems" });
  const place = element("div", { class: "source" }, editor.view.dom);
  draft.watch((found) => {
    outline = found.outline ?? outline;
    editor.tell(found.problems);
    problems.replaceChildren(...found.problems.map(({ path, fact, advice, line, blocking }) => {
      const said = [element("b", {}, line ? `Line ${line}, ${path.replace(/^the model, line \d+$/, "text")}:` : `${path}:`), ` ${fact} ${advice}`];
      const row = element("li", { class: blocking === false ? "mild" : "" });
      if (!line) row.append(...said);
      else {
        const go = element("button", { type: "button", class: "plain" }, ...said);
        go.addEventListener("click", () => editor.reveal(line));
        row.append(go);
      }
      return row;
    }));
    problems.hidden = found.problems.length === 0;
  });
  const shown = (): void => {
    editor.view.requestMeasure();
    void known();
  };
  return { title: "Text", content: element("div", { class: "describe" }, place, problems), shown };
}
