// Renderer without WebGL: draws the edges of all bodies on a 2D canvas.

import * as THREE from "three";

export class Flat {
  readonly domElement = document.createElement("canvas");
  private readonly edges = new Map<THREE.BufferGeometry, Float32Array>();
  private ratio = 1;

  setPixelRatio(ratio: number): void { this.ratio = ratio; }

  setSize(width: number, height: number): void {
    Object.assign(this.domElement, { width: Math.floor(width * this.ratio), height: Math.floor(height * this.ratio) });
    Object.assign(this.domElement.style, { width: `${width}px`, height: `${height}px` });
  }

  render(scene: THREE.Scene, camera: THREE.Camera): void {
    const pen = this.domElement.getContext("2d")!, { width, height } = this.domElement;
    scene.updateMatrixWorld();
    camera.updateMatrixWorld();
    pen.fillStyle = scene.background instanceof THREE.Color ? scene.background.getStyle() : "white";
    pen.fillRect(0, 0, width, height);
    scene.traverseVisible((object) => {
      if (!(object instanceof THREE.Mesh) || Array.isArray(object.material) || !("color" in object.material)) return;
      if (object.material instanceof THREE.ShadowMaterial) return;
      pen.strokeStyle = (object.material.color as THREE.Color).getStyle();
      pen.lineWidth = 1.5 * this.ratio;
      this.stroke(pen, this.segments(object), object.matrixWorld, camera);
    });
  }

  /** Pairs of ends: the points of a line, or the edges of a solid. */
  private segments(object: THREE.Mesh): Float32Array {
    const known = this.edges.get(object.geometry);
    if (known) return known;
    const { points } = object.userData as { points?: ArrayLike<number> };
    const found = points
      ? Float32Array.from({ length: 2 * (points.length - 3) }, (_, i) => points[3 * Math.floor((i + 3) / 6) + (i % 3)])
      : new Float32Array(new THREE.EdgesGeometry(object.geometry, 25).attributes.position.array);
    this.edges.set(object.geometry, found);
    return found;
  }

  private stroke(pen: CanvasRenderingContext2D, ends: Float32Array, pose: THREE.Matrix4, camera: THREE.Camera): void {
    const { width, height } = this.domElement, point = new THREE.Vector3();
    pen.beginPath();
    for (let i = 0; i < ends.length; i += 3) {
      point.fromArray(ends, i).applyMatrix4(pose).project(camera);
      const x = (0.5 + point.x / 2) * width, y = (0.5 - point.y / 2) * height;
      if (i % 6 === 0) pen.moveTo(x, y); else pen.lineTo(x, y);
    }
    pen.stroke();
  }
}
