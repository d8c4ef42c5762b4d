// Source of the model and its problems.

import { element } from "../../dom";
import type { Tab, Studio } from "../studio";
import { Editor } from "./editor";
import { formatOf, type Outline } from "./format";

export function textPage({ draft, connection }: Studio): Tab {
  let outline: Outline | null = null;
  const known = async () => ({ format: await formatOf(connection).catch(() => null), outline });
  const editor = new Editor(draft, known);
  const problems = element("ul", { class: "problems", role: "status", "aria-label": "Problems" });
  const root = element("div", { class: "source" }, editor.view.dom);
  draft.watch((found) => {
    outline = found.outline ?? outline;
    editor.showProblems(found.problems);
    problems.replaceChildren(...found.problems.map(({ path, fact, advice, line, blocking }) => {
      const message = [element("b", {}, line ? `Line ${line}, ${path.replace(/^the model, line \d+$/, "source")}:` : `${path}:`), ` ${fact} ${advice}`];
      const row = element("li", { class: blocking === false ? "mild" : "" });
      if (!line) row.append(...message);
      else {
        const go = element("button", { type: "button", class: "plain" }, ...message);
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
  return { title: "Source", content: element("div", { class: "describe" }, root, problems), shown };
}
