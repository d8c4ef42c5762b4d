// Label with the name of the body under the pointer.

import * as THREE from "three";
import { element } from "../dom";
import type { Cameras } from "./cameras";

/** Label with the name of the body under the pointer; a click on a body dispatches the event "body". */
export function namer(canvas: HTMLElement, bodiesOf: () => THREE.Object3D[], cameras: Cameras): HTMLElement {
  const label = element("div", { class: "name-tag" }), ray = new THREE.Raycaster();
  ray.params.Line2 = { threshold: 4 };
  label.hidden = true;
  canvas.addEventListener("pointerleave", () => { label.hidden = true; });
  canvas.addEventListener("click", () => { // after a drag the label is hidden
    if (!label.hidden) canvas.dispatchEvent(new CustomEvent("body", { bubbles: true, detail: label.textContent }));
  });
  canvas.addEventListener("pointermove", (event) => {
    const { left, top, width, height } = canvas.getBoundingClientRect(), x = event.clientX - left, y = event.clientY - top;
    const bodies = bodiesOf();
    ray.setFromCamera(new THREE.Vector2((2 * x) / width - 1, 1 - (2 * y) / height), cameras.camera);
    const hit = event.buttons ? undefined : ray.intersectObjects(bodies).find(({ object }) => object.parent?.visible);
    label.hidden = !hit;
    if (!hit) return;
    label.textContent = bodies.find((body) => isIn(hit.object, body))?.name ?? "";
    label.style.transform = `translate(${x + 14}px, ${y + 10}px)`;
  });
  return label;
}

/** Whether an object is part of another. */
export function isIn(object: THREE.Object3D | null, body: THREE.Object3D): boolean {
  return object !== null && (object === body || isIn(object.parent, body));
}
