/**
 * Changes are drawn once a frame, however many events a drag sends; what is slow, or would
 * disturb, waits until nothing has changed for a moment.
 */
const PAUSE = 200;

export class Frames {
  /**
   * @param {() => void} draw called at most once a frame
   * @param {() => void} rest called when changes have paused
   */
  constructor(draw, rest) {
    Object.assign(this, { draw, rest, asked: false, timer: 0, unsettled: false });
  }

  /** Something has changed. */
  ask() {
    this.unsettled = true;
    if (!this.asked) {
      this.asked = true;
      requestAnimationFrame(() => this.now());
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.settle(), PAUSE);
  }

  /** Draws what has changed without waiting for the frame. */
  now() {
    if (!this.asked) return;
    this.asked = false;
    this.draw();
  }

  /** Draws and rests without waiting; nothing happens where nothing has changed. */
  settle() {
    if (!this.unsettled) return;
    clearTimeout(this.timer);
    this.now();
    this.unsettled = false;
    this.rest();
  }
}
