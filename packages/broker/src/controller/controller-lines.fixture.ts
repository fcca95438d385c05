/** One readable line per effect of the controller. Called by the ControllerScript. */
import type { ControllerEffect } from './controller-effect';

export function lineOf(effect: ControllerEffect): string | readonly string[] | undefined {
  switch (effect.type) {
    case 'write-states':
      return effect.writes.map(({ state, expectedPartitionEpoch }) => {
        const { topic, partition, leader, leaderEpoch, isr, eligibleLeaders } = state;
        const more = eligibleLeaders.length > 0 ? ` eligible ${eligibleLeaders.join(',')}` : '';
        const version = expectedPartitionEpoch ?? 'new';
        return `write ${topic}/${partition}@${version}: leader ${leader} epoch ${leaderEpoch} ISR ${isr.join(',')}${more}`;
      });
    case 'publish': {
      const { publication, to } = effect;
      const parts = [
        ...publication.brokers.map((b) => `broker ${b.brokerId} ${b.eligible ? 'ok' : 'out'}`),
        ...publication.removedBrokers.map((id) => `no broker ${id}`),
        ...publication.topics.map((t) => `topic ${t.topic}`),
        ...publication.removedTopicIds.map((id) => `no topic ${id}`),
        ...publication.partitions.map((p) => {
          const offline = p.offlineReplicas.map(({ brokerId }) => brokerId).join(',');
          const more = offline === '' ? '' : ` offline ${offline}`;
          return `${p.topic}/${p.partition} leader ${p.leader} epoch ${p.leaderEpoch}${more}`;
        }),
        ...[...publication.stopReplicas].flatMap(([id, requests]) =>
          requests.map((r) => `delete ${r.topic}/${r.partition} on ${id}`),
        ),
      ];
      return `publish to ${to.join(',')}: ${parts.join('; ')}`;
    }
    case 'send-image':
      return `image to ${effect.brokerId}`;
    case 'answer-alteration': {
      const { state, error } = effect.outcome;
      const said = state ? `ISR ${state.isr.join(',')}` : error?.code;
      return `answer ${effect.brokerId} #${effect.requestId}: ${said}`;
    }
    case 'answer-shutdown':
      return `answer ${effect.brokerId}: ${effect.error?.code ?? `leads ${effect.stillLeading}`}`;
    case 'open-link':
      return `dial ${effect.registration.brokerId}`;
    case 'close-link':
      return `hang up ${effect.brokerId}`;
    case 'cut-stream':
      return `cut ${effect.brokerId}`;
    case 'settle-owed':
      return `settle ${effect.owed.topic} on ${effect.owed.brokerId}`;
    case 'complete-deletion': {
      const owed = effect.owed.map(({ brokerId }) => brokerId).join(',');
      const more = owed === '' ? '' : `, owed by ${owed}`;
      return `complete deletion of ${effect.marker.topic}${more}`;
    }
    case 'refresh-topics':
      return 'refresh topics';
    case 'update-topic':
      return `update topic ${effect.after.topic}@${effect.before.version}`;
    case 'write-settings':
      return `write settings of ${effect.settings.brokerId}@${effect.expectedVersion ?? 'new'}`;
    case 'read-settings':
      return 'read settings';
    case 'answer-command': {
      const { brokerId, requestId, answer } = effect;
      const { reassignedPartitions, electedLeaders } = answer;
      const parts = reassignedPartitions?.partitions ?? electedLeaders?.partitions;
      const each = parts?.map(
        ({ topic, partition, error }) => `${topic}/${partition} ${error?.code ?? 'done'}`,
      );
      const said = answer.error?.code ?? each?.join(', ') ?? 'done';
      return `answer ${brokerId} #${requestId}: ${said}`;
    }
    case 'resign':
      return `resign: ${effect.why}`;
    case 'set-timer':
    case 'watch-suspect':
    case 'journal':
      return undefined;
  }
}
