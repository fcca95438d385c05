import { CaughtUpMarks } from './caught-up-marks';

describe('caught-up time by marks', () => {
  it('is the send time of the newest mark that was seen and reached', () => {
    const marks = new CaughtUpMarks();
    const first = marks.sent(100, 10);
    const second = marks.sent(200, 20);
    const third = marks.sent(300, 30);
    expect(marks.reached(first, 5)).toBeUndefined();
    expect(marks.reached(second, 25)).toBe(200);
    expect(marks.reached(third, 29)).toBeUndefined();
    expect(marks.reached(third, 30)).toBe(300);
  });

  it('an end that is reached does not count before its mark was seen (KAFKA-4485)', () => {
    const marks = new CaughtUpMarks();
    const first = marks.sent(100, 10);
    marks.sent(5_000, 10);
    expect(marks.reached(first, 10)).toBe(100);
  });

  it('a follower that stays behind gains nothing by acknowledging', () => {
    const marks = new CaughtUpMarks();
    const behind = [1, 2, 3, 4].map((at) => marks.sent(at * 1_000, at * 100));
    const times = behind.map((id, at) => marks.reached(id, at * 100 + 50));
    expect(times).toEqual([undefined, 1_000, 2_000, 3_000]);
  });

  it('holds a bounded number of marks', () => {
    const marks = new CaughtUpMarks(8);
    let last = 0;
    for (let at = 0; at < 1_000; at += 1) last = marks.sent(at, at);
    expect(marks.outstanding).toBeLessThanOrEqual(8);
    expect(marks.reached(last, 1_000)).toBe(999);
  });
});
