// HTML that Python wrote, in which every word of a model is already escaped.

/** The nodes of a text; scripts in it would not run, neither by the template nor by the policy of the page. */
export function htmlOf(text: string): DocumentFragment {
  const template = document.createElement("template");
  template.innerHTML = text;
  return template.content;
}
