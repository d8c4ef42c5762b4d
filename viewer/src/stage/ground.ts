// Ground: a grid that fades out, and the shadow on it.

import * as THREE from "three";

const VERTEX = `
varying vec2 position2;
void main() {
  position2 = position.xy;
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
}`;
const FRAGMENT = `
uniform vec3 color;
uniform float cell, radius, strength;
varying vec2 position2;
float lines(float size, float width) {
  vec2 x = position2 / size, w = fwidth(x);
  vec2 d = abs(fract(x - 0.5) - 0.5) / max(w, vec2(1e-6));
  vec2 visible = clamp(1.0 - 2.0 * w, 0.0, 1.0);
  vec2 line = clamp(width + 0.5 - d, 0.0, 1.0) * visible;
  return max(line.x, line.y);
}
void main() {
  float fade = 1.0 - smoothstep(0.15 * radius, radius, length(position2));
  float grid = max(0.45 * lines(cell, 0.5), lines(5.0 * cell, 0.6));
  gl_FragColor = vec4(color, strength * grid * fade * fade);
  #include <colorspace_fragment>
}`;

export class Ground {
  readonly group = new THREE.Group();
  private readonly grid: THREE.ShaderMaterial;
  private readonly shadow = new THREE.ShadowMaterial({ opacity: 0.25 });

  /** A plane through `at` with a normal, for a mechanism of some size. */
  constructor(private readonly at: THREE.Vector3, normal: THREE.Vector3, size: number) {
    const radius = 5 * size;
    this.grid = new THREE.ShaderMaterial({
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
      transparent: true,
      depthWrite: false,
      side: THREE.DoubleSide,
      uniforms: { color: { value: new THREE.Color() }, cell: { value: cellOf(size) }, radius: { value: radius }, strength: { value: 1 } },
    });
    const plane = new THREE.PlaneGeometry(2 * radius, 2 * radius);
    const shade = new THREE.Mesh(plane, this.shadow), grid = new THREE.Mesh(plane, this.grid);
    shade.receiveShadow = true;
    grid.renderOrder = -2;
    shade.renderOrder = -1;
    this.shadow.depthWrite = false;
    this.group.add(grid, shade);
    this.group.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), normal);
    this.group.position.copy(at);
  }

  /** Follows a moving mechanism in steps of whole cells, so that the grid appears fixed. */
  follow(moved: THREE.Vector3): void {
    const step = 5 * this.grid.uniforms.cell.value, rotation = this.group.quaternion;
    const local = moved.clone().applyQuaternion(rotation.clone().invert());
    local.set(step * Math.round(local.x / step), step * Math.round(local.y / step), 0);
    this.group.position.copy(this.at).add(local.applyQuaternion(rotation));
  }

  paint(color: string, strength: number, shadow: number): void {
    this.grid.uniforms.color.value.set(color);
    this.grid.uniforms.strength.value = strength;
    this.shadow.opacity = shadow;
  }
}

/** About a tenth of a size, as 1, 2 or 5 times a power of ten; every fifth line is strong. */
function cellOf(size: number): number {
  const power = 10 ** Math.floor(Math.log10(size / 10)), digit = size / 10 / power;
  return power * (digit < 2 ? 1 : digit < 5 ? 2 : 5);
}
